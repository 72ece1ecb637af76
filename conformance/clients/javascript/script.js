// The script of conformance/clients with the official JavaScript client.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  CoreV1Api,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  PatchStrategy,
  PortForward,
  Watch,
  setHeaderOptions,
} from '@kubernetes/client-node';

const [namespace, pod, container] = ['default', 'web', 'app'];
const port = Number(process.env.POD_PORT ?? 8080);
const name = 'javascript-script';

const config = new KubeConfig();
config.loadFromFile(process.env.KUBECONFIG);
const core = config.makeApiClient(CoreV1Api);

async function list() {
  const pods = await core.listNamespacedPod({ namespace });
  assert.deepEqual(pods.items.map((found) => [found.metadata.name, found.status.phase]), [[pod, 'Running']]);
}

async function createAndWatch() {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const { metadata } = await core.listNamespacedConfigMap({ namespace });
  let watching;
  const seen = new Promise((resolve, reject) => {
    const query = { resourceVersion: metadata.resourceVersion };
    watching = new Watch(config).watch(path, query, (type, object) => resolve([type, object.data]), reject);
  });
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { a: '1' } } });
  assert.deepEqual(await seen, ['ADDED', { a: '1' }]);
  (await watching).abort();
}

async function patch() {
  for (const [kind, body] of [
    [PatchStrategy.JsonPatch, [{ op: 'replace', path: '/data/a', value: 'json' }]],
    [PatchStrategy.MergePatch, { data: { a: 'merge' } }],
    [PatchStrategy.StrategicMergePatch, { data: { a: 'strategic' } }],
  ]) {
    const patched = await core.patchNamespacedConfigMap({ namespace, name, body }, setHeaderOptions('Content-Type', kind));
    assert.ok(JSON.stringify(body).includes(`"${patched.data.a}"`), `${kind} left ${patched.data.a}`);
  }
}

async function apply() {
  const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { b: '2' } };
  const objects = KubernetesObjectApi.makeApiClient(config);
  const applied = await objects.patch(wanted, undefined, undefined, name, true, PatchStrategy.ServerSideApply);
  assert.deepEqual(applied.data, { a: 'strategic', b: '2' });
}

async function remove() {
  await core.deleteNamespacedConfigMap({ namespace, name });
}

/** The next two events. */
async function twice(emitter, event) {
  const first = await once(emitter, event);
  return [first, await once(emitter, event)];
}

async function logs() {
  const followed = new PassThrough();
  // The client does not send a zero. So the second line is the one that was not there at the beginning.
  const following = await new Log(config).log(namespace, pod, container, followed, { follow: true, tailLines: 1 });
  const lines = createInterface({ input: followed });
  const [[first], [second]] = await twice(lines, 'line');
  assert.match(first, /^tick /);
  assert.match(second, /^tick /);
  following.abort();
}

/** What a command printed on both streams, and its status. */
async function run(command, stdin) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(stdout), text(stderr)]);
  const status = await new Promise((resolve, reject) => {
    new Exec(config).exec(namespace, pod, container, command, stdout, stderr, stdin, false, resolve).catch(reject);
  });
  stdout.end();
  stderr.end();
  return [...(await printed), status];
}

async function exec() {
  const stdin = new PassThrough();
  stdin.write('hello\n');
  let [stdout, stderr, status] = await run(['app', 'read-line'], stdin);
  assert.deepEqual([stdout, stderr, status.status], ['hello\n', '', 'Success']);
  [stdout, stderr, status] = await run(['app', 'fail'], null);
  assert.deepEqual([stdout, stderr, status.reason], ['so far so good\n', 'oh no\n', 'NonZeroExitCode']);
  assert.deepEqual(status.details.causes, [{ reason: 'ExitCode', message: '3' }]);
}

async function portForward() {
  const [output, errors, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const answer = (async () => {
    let all = '';
    for await (const piece of output) {
      all += piece;
      if (all.endsWith('hello from web\n')) {
        return all;
      }
    }
    return all;
  })();
  const connection = await new PortForward(config).portForward(namespace, pod, [port], output, errors, input);
  input.write('GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n');
  assert.match(await answer, /\r\n\r\nhello from web\n$/);
  connection.close();
}

/** Prints what is said where there is no container to connect to. */
async function refusals() {
  const spec = { schedulerName: 'nobody', containers: [{ name: container, image: 'app:1' }] };
  await core.createNamespacedPod({ namespace, body: { metadata: { name: 'nowhere' }, spec } });
  const tell = async (what, asking) => {
    const words = await asking.then(() => 'no error', (error) => error.code ?? error.message);
    console.log(`${what}: ${words}`);
  };
  for (const name of ['nowhere', 'missing']) {
    const out = () => new PassThrough();
    await tell(`exec, ${name}`, new Exec(config).exec(namespace, name, container, ['app', 'cat'], out(), out(), null, false));
    await tell(`port-forward, ${name}`, new PortForward(config).portForward(namespace, name, [80], out(), out(), out()));
  }
  await tell('logs, missing', new Log(config).log(namespace, 'missing', container, new PassThrough(), {}));
  await core.deleteNamespacedPod({ namespace, name: 'nowhere' });
}

if (process.argv[2] === 'refusals') {
  await refusals();
  process.exit(0);
}
const steps = { list, 'create, watch': createAndWatch, patch, apply, delete: remove, 'logs -f': logs, exec, 'port-forward': portForward };
for (const [step, run] of Object.entries(steps)) {
  await run();
  console.log('ok', step);
}
// Nothing that a client left open keeps the process.
process.exit(0);
