// What the operator promises, on a real API server with Pods.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { CoreV1Api, PatchStrategy, loadYaml } from '@kubernetes/client-node';
import { startOperator } from '../src/operator.js';
import { Cluster } from '../testing/kubewright.js';

/** @type {Cluster} */
let cluster;
/** @type {string} */
let namespace;
/** @type {() => Promise<void>} */
let stopOperator;

before(async () => {
  cluster = await Cluster.start();
  const definition = await readFile(new URL('../../garden-crd.yaml', import.meta.url), 'utf8');
  await cluster.objects.create(loadYaml(definition));
});

// Also when a test has failed.
after(() => cluster?.stop());

beforeEach(async () => {
  namespace = await cluster.newNamespace();
  stopOperator = await startOperator(cluster.config, namespace);
});

afterEach(() => stopOperator?.());

const gardens = () => `/apis/example.com/v1/namespaces/${namespace}/gardens`;
const configMaps = () => `/api/v1/namespaces/${namespace}/configmaps`;

/**
 * @param {{ plants: string[], gardeners?: number }} spec
 * @returns {import('../src/operator.js').Garden}
 */
const garden = (spec) => ({ apiVersion: 'example.com/v1', kind: 'Garden', metadata: { name: 'roses', namespace }, spec });

test('a garden gets labels for its plants', async () => {
  await cluster.objects.create(garden({ plants: ['rose'] }));
  await cluster.eventually(configMaps(), 'roses-labels', (labels) => labels?.data?.rose === 'water me');

  const changed = garden({ plants: ['tulip'] });
  await cluster.objects.patch(changed, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
  const { data } = await cluster.eventually(configMaps(), 'roses-labels', (labels) => labels?.data?.tulip);
  assert.deepEqual(data, { tulip: 'water me' });
});

test('gardeners are counted when their Pods are ready', async () => {
  await cluster.objects.create(garden({ plants: ['rose'], gardeners: 2 }));
  await cluster.eventually(gardens(), 'roses', (garden) => garden?.status?.readyGardeners === 2);
  const labelSelector = 'app=roses-gardeners';
  const pods = await cluster.config.makeApiClient(CoreV1Api).listNamespacedPod({ namespace, labelSelector });
  assert.deepEqual(pods.items.map((pod) => pod.status?.phase), ['Running', 'Running']);
});

test('what a garden had goes with it', async () => {
  await cluster.objects.create(garden({ plants: ['rose'] }));
  await cluster.eventually(configMaps(), 'roses-labels', (labels) => labels !== undefined);

  await cluster.objects.delete(garden({ plants: ['rose'] }));
  await cluster.eventually(configMaps(), 'roses-labels', (labels) => labels === undefined);
});

test('a garden without plants is refused', async () => {
  await assert.rejects(cluster.objects.create(garden({ plants: [] })), (/** @type {any} */ refused) => {
    assert.equal(refused.code, 422);
    assert.match(refused.body.message ?? refused.body, /spec\.plants in body should have at least 1 items/);
    return true;
  });
});
