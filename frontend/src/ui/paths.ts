/** Absolute paths as the host writes them: with slashes, or on Windows with backslashes. */

/** What a path's parts are joined by. */
function separatorOf(path: string): string {
  return path.includes("/") ? "/" : "\\";
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf(separatorOf(path)) + 1);
}

/** The folder that a path is in. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(separatorOf(path))));
}

/** The path of a name in a folder. */
export function joinPath(folder: string, name: string): string {
  const separator = separatorOf(folder);
  return folder.endsWith(separator) ? folder + name : folder + separator + name;
}

/** Whether a path is a folder's own or below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(joinPath(folder, ""));
}

/** A path relative to a folder it is below; the path itself where it is not. */
export function relativePath(path: string, folder: string): string {
  const top = joinPath(folder, "");
  return folder !== "" && path.startsWith(top) ? path.slice(top.length) : path;
}

/** A path after a move from one path to another; itself where the move does not concern it. */
export function movedPath(path: string, from: string, to: string): string {
  return isWithin(path, from) ? to + path.slice(from.length) : path;
}
