// A client of the agent, written from docs/PROTOCOL.md alone. It says what it
// sees on standard output; node client.mjs HOME FOLDER.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [home, folder] = process.argv.slice(2);
const command = () => `mjs-${randomBytes(8).toString('hex')}`;
const say = (...words) => console.log(...words);
let cursor = 0;

class Client {
  constructor() {
    this.calls = new Map();
    this.events = [];
    this.waiting = [];
    this.next = 1;
    this.socket = connect(readFileSync(`${home}/agent.lock`, 'utf8').split('\n')[0]);
    let rest = Buffer.alloc(0);
    this.socket.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
        this.take(JSON.parse(rest.subarray(0, at).toString('utf8')));
        rest = rest.subarray(at + 1);
      }
    });
  }
  take(m) {
    if (m.method === 'event' && m.params.seq > cursor) {
      cursor = m.params.seq;
      this.events.push(m.params);
      this.waiting = this.waiting.filter((look) => !look());
    }
    const call = m.method ? undefined : this.calls.get(m.id);
    if (!call) return;
    this.calls.delete(m.id);
    if (m.error) call.reject(new Error(m.error.data?.code ?? m.error.code));
    else call.resolve(m.result);
  }
  call(method, params) {
    const id = this.next++;
    this.socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve, reject) => this.calls.set(id, { resolve, reject }));
  }
  event(runId, type) {
    return new Promise((resolve) => {
      const look = () => {
        const e = this.events.find((e) => e.runId === runId && e.type === type);
        if (e) resolve(e.payload);
        return e !== undefined;
      };
      if (!look()) this.waiting.push(look);
    });
  }
}

async function greet() {
  const c = new Client();
  const holder = await c.call('hello', { protocol: 1, kind: 'other', version: 'client.mjs' });
  const state = await c.call('events.subscribe', { afterSeq: cursor });
  for (const e of state.events) c.take({ method: 'event', params: e });
  cursor = Math.max(cursor, state.snapshotSeq);
  say('holder', holder.kind, holder.runner.status);
  return c;
}

const modelRef = { providerId: 'mock', model: '' };
let c = await greet();
const task = { commandId: command(), modelRef, folder, input: '/tool createDocument {"dir":"","name":"by-script.md","text":"# Made\\n"}' };
const run = await c.call('run.submit', task);
const approval = await c.event(run.runId, 'approval.asked');
say('asked', approval.summary.path);
c.socket.destroy(); // the connection is lost while a question waits
c = await greet();
say('same run', (await c.call('run.submit', task)).runId === run.runId);
const { id: approvalId, toolCallId, inputDigest } = approval;
await c.call('approval.decide', { commandId: command(), approvalId, toolCallId, inputDigest, decision: 'allow_once' });
say('ended', (await c.event(run.runId, 'run.succeeded')).state);
const second = { commandId: command(), modelRef, folder, input: '/tool createDocument {"dir":"","name":"never.md","text":"x"}' };
const stopped = await c.call('run.submit', second);
await c.event(stopped.runId, 'run.waiting');
say('receipt', (await c.call('run.cancel', { commandId: command(), runId: stopped.runId })).receipt);
say('ended', (await c.event(stopped.runId, 'run.cancelled')).state);
await c.call('credential.get', { credentialRef: 'x' }).catch((e) => say('no key', e.message));
const seqs = c.events.map((e) => e.seq);
say('in order', seqs.every((seq, i) => i === 0 || seq > seqs[i - 1]));
c.socket.end();
