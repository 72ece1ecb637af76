// A cluster for tests: `kubewright apiserver` as a child process. Copy this file; nothing in it knows the operator.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CoreV1Api, KubeConfig, KubernetesObjectApi, Watch } from '@kubernetes/client-node';

/** A running API server with the standard controllers, and a simulated node on which Pods become ready. */
export class Cluster {
  /**
   * @param {import('node:child_process').ChildProcess} process
   * @param {string} folder
   */
  constructor(process, folder) {
    this.process = process;
    this.folder = folder;
    this.config = new KubeConfig();
    this.config.loadFromFile(join(folder, 'kubeconfig'));
    this.objects = KubernetesObjectApi.makeApiClient(this.config);
  }

  /** Starts it; resolves once it answers. */
  static async start() {
    const command = process.env.KUBEWRIGHT ?? 'kubewright';
    const folder = await mkdtemp(join(tmpdir(), 'kubewright-'));
    const kubeconfig = join(folder, 'kubeconfig');
    const flags = ['--secure-port=0', '--controllers=all', `--kubeconfig-out=${kubeconfig}`, '--stop-with-stdin'];
    // The server ends when the pipe to its standard input does: also if the tests are killed.
    const child = spawn(command, ['apiserver', ...flags], { stdio: ['pipe', 'pipe', 'inherit'] });
    // It prints its address once it answers and the kubeconfig is written.
    const address = once(createInterface({ input: child.stdout }), 'line');
    const failure = once(child, 'exit').then(
      ([code]) => Promise.reject(new Error(`the API server has ended with exit code ${code}`)),
      (cause) => {
        const advice = 'install kubewright, or say where it is by $KUBEWRIGHT';
        return Promise.reject(new Error(`cannot start ${command}: ${advice}`, { cause }));
      },
    );
    try {
      await Promise.race([address, failure]);
    } catch (error) {
      await rm(folder, { recursive: true });
      throw error;
    }
    return new Cluster(child, folder);
  }

  /** Stops it; resolves once it has ended. */
  async stop() {
    const ended = once(this.process, 'exit');
    this.process.stdin?.end();
    await ended;
    await rm(this.folder, { recursive: true });
  }

  /** A namespace for one test. It goes with the server. */
  async newNamespace() {
    const namespaces = this.config.makeApiClient(CoreV1Api);
    const made = await namespaces.createNamespace({ body: { metadata: { generateName: 'test-' } } });
    return made.metadata?.name ?? '';
  }

  /**
   * Resolves once `isSo` of an object, or of `undefined` when there is none. It is asked when the object changes.
   *
   * @param {string} path of the collection, as in /api/v1/namespaces/default/configmaps
   * @param {string} name
   * @param {(object: any) => boolean} isSo
   */
  async eventually(path, name, isSo, seconds = 30) {
    // The watch begins with what is there, and a bookmark says that this was all.
    const query = {
      fieldSelector: `metadata.name=${name}`,
      timeoutSeconds: seconds,
      sendInitialEvents: true,
      allowWatchBookmarks: true,
      resourceVersionMatch: 'NotOlderThan',
    };
    /** @type {any} */
    let last;
    /** @type {Promise<AbortController> | undefined} */
    let watching;
    const isFound = await new Promise((resolve, reject) => {
      const onEvent = (/** @type {string} */ type, /** @type {any} */ object) => {
        if (type !== 'BOOKMARK') {
          last = type === 'DELETED' ? undefined : object;
        }
        try {
          if (isSo(last)) {
            resolve(true);
          }
        } catch (error) {
          reject(error);
        }
      };
      const onEnd = (/** @type {any} */ error) => (error ? reject(error) : resolve(false));
      watching = new Watch(this.config).watch(path, query, onEvent, onEnd);
      watching.catch(reject);
    });
    (await watching)?.abort();
    if (!isFound) {
      throw new Error(`${path}/${name} after ${seconds} s: ${JSON.stringify(last)}`);
    }
    return last;
  }
}
