// node client.mjs HOME FOLDER: a client of the agent, written from docs/PROTOCOL.md alone.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [home, folder] = process.argv.slice(2);
const command = () => `mjs-${randomBytes(8).toString('hex')}`;
let cursor = 0;
async function attach() {
  const socket = connect(readFileSync(`${home}/agent.lock`, 'utf8').split('\n')[0]);
  const calls = new Map(), events = [];
  let waiting = [], rest = '';
  const take = (event) => {
    if (event.seq > cursor) events.push(event);
    cursor = Math.max(cursor, event.seq);
    waiting = waiting.filter((look) => !look());
  };
  const receive = (line) => {
    const { id, method, params, result, error } = JSON.parse(line);
    if (method === 'event') take(params);
    else if (!method && error) calls.get(id).reject(new Error(error.data?.code ?? error.code));
    else if (!method) calls.get(id).resolve(result);
  };
  socket.setEncoding('utf8').on('data', (data) => {
    const lines = (rest + data).split('\n'); // LF alone ends a line
    rest = lines.pop();
    lines.forEach(receive);
  });
  const call = (method, params) => new Promise((resolve, reject) => {
    calls.set(calls.size + 1, { resolve, reject });
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: calls.size, method, params })}\n`);
  });
  const event = (runId, type) => new Promise((resolve) => {
    const look = () => events.some((e) => e.runId === runId && e.type === type && (resolve(e.payload), true));
    if (!look()) waiting.push(look);
  });
  const { kind, runner } = await call('hello', { protocol: 1, kind: 'other', version: 'client.mjs' });
  console.log('holder', kind, runner.status);
  const state = await call('events.subscribe', { afterSeq: cursor });
  state.events.forEach(take);
  cursor = Math.max(cursor, state.snapshotSeq);
  return { call, event, socket };
}
const ask = (name) => ({ commandId: command(), modelRef: { providerId: 'mock', model: '' }, folder, input: `/tool createDocument {"dir":"","name":"${name}","text":"# Made\\n"}` });
let client = await attach();
const task = ask('by-script.md');
const { runId } = await client.call('run.submit', task);
const { id: approvalId, toolCallId, inputDigest, summary } = await client.event(runId, 'approval.asked');
console.log('asked', summary.path);
client.socket.destroy(); // the connection is lost while a question waits
client = await attach();
console.log('same run', (await client.call('run.submit', task)).runId === runId);
await client.call('approval.decide', { commandId: command(), approvalId, toolCallId, inputDigest, decision: 'allow_once' });
console.log('ended', (await client.event(runId, 'run.succeeded')).state);
const second = await client.call('run.submit', ask('never.md'));
await client.event(second.runId, 'run.waiting');
console.log('receipt', (await client.call('run.cancel', { commandId: command(), runId: second.runId })).receipt);
console.log('ended', (await client.event(second.runId, 'run.cancelled')).state);
await client.call('credential.get', { credentialRef: 'x' }).catch((e) => console.log('no key', e.message));
client.socket.end();
