// Gives each Garden of a namespace a ConfigMap with the labels of its plants, and a Deployment of gardeners.

import {
  ApiException,
  AppsV1Api,
  CustomObjectsApi,
  KubernetesObjectApi,
  PatchStrategy,
  makeInformer,
  setHeaderOptions,
} from '@kubernetes/client-node';

/**
 * @typedef {import('@kubernetes/client-node').KubernetesObject & {
 *   spec: { plants: string[], gardeners?: number },
 *   status?: { readyGardeners: number },
 * }} Garden
 */

// On the gardeners' Deployment, with the name of their Garden.
const GARDEN = 'example.com/garden';
const MANAGER = 'garden-operator';

/** How long to wait after an error before the next attempt, in milliseconds. */
const PAUSE = 1000;

/**
 * Starts the operator for one namespace. What it returns stops it, once what it is doing is done.
 *
 * @param {import('@kubernetes/client-node').KubeConfig} config
 * @param {string} namespace
 * @returns {Promise<() => Promise<void>>}
 */
export async function startOperator(config, namespace) {
  const objects = KubernetesObjectApi.makeApiClient(config);
  const customObjects = config.makeApiClient(CustomObjectsApi);
  const deployments = config.makeApiClient(AppsV1Api);
  const gardens = /** @type {import('@kubernetes/client-node').Informer<Garden>} */ (
    makeInformer(config, `/apis/example.com/v1/namespaces/${namespace}/gardens`, () =>
      objects.list('example.com/v1', 'Garden', namespace),
    )
  );
  const gardeners = makeInformer(
    config,
    `/apis/apps/v1/namespaces/${namespace}/deployments`,
    () => deployments.listNamespacedDeployment({ namespace, labelSelector: GARDEN }),
    GARDEN,
  );

  let isStopping = false;
  // One after the other, so that an older state never overwrites a newer one.
  let work = Promise.resolve();
  /** @param {() => Promise<void>} task */
  const queue = (task) => {
    work = work.then(async () => {
      while (!isStopping) {
        try {
          return await task();
        } catch (error) {
          console.error(error);
          await new Promise((resolve) => setTimeout(resolve, PAUSE));
        }
      }
    });
  };
  for (const verb of /** @type {const} */ (['add', 'update'])) {
    gardens.on(verb, (garden) => queue(() => plant(objects, garden)));
    gardeners.on(verb, (deployment) => queue(() => report(customObjects, deployment)));
  }
  for (const informer of [gardens, gardeners]) {
    informer.on('error', (error) => {
      if (!isStopping) {
        console.error(error);
        setTimeout(() => isStopping || informer.start(), PAUSE);
      }
    });
    await informer.start();
  }
  return async () => {
    isStopping = true;
    await Promise.all([gardens.stop(), gardeners.stop(), work]);
  };
}

/**
 * @param {KubernetesObjectApi} objects
 * @param {Garden} garden
 */
async function plant(objects, garden) {
  if (garden.metadata?.deletionTimestamp) {
    return;
  }
  const { name, namespace, uid } = garden.metadata ?? {};
  // The Garden becomes the owner: the garbage collector deletes what it owns with it.
  const { apiVersion, kind } = garden;
  const ownerReferences = [{ apiVersion, kind, name, uid, controller: true }];
  const pod = { app: `${name}-gardeners` };
  const children = [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `${name}-labels`, namespace, ownerReferences },
      data: Object.fromEntries(garden.spec.plants.map((plant) => [plant, 'water me'])),
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: `${name}-gardeners`, namespace, ownerReferences, labels: { [GARDEN]: name } },
      spec: {
        replicas: garden.spec.gardeners,
        selector: { matchLabels: pod },
        template: {
          metadata: { labels: pod },
          spec: { containers: [{ name: 'gardener', image: 'example.com/gardener:1' }] },
        },
      },
    },
  ];
  for (const child of children) {
    await apply(objects, /** @type {import('@kubernetes/client-node').KubernetesObject} */ (child));
  }
}

/**
 * @param {KubernetesObjectApi} objects
 * @param {import('@kubernetes/client-node').KubernetesObject} object
 */
async function apply(objects, object) {
  await objects.patch(object, undefined, undefined, MANAGER, true, PatchStrategy.ServerSideApply);
}

/**
 * @param {CustomObjectsApi} customObjects
 * @param {import('@kubernetes/client-node').V1Deployment} deployment
 */
async function report(customObjects, deployment) {
  const { namespace = '', labels = {} } = deployment.metadata ?? {};
  const name = labels[GARDEN];
  const garden = { group: 'example.com', version: 'v1', plural: 'gardens', namespace, name };
  const body = { status: { readyGardeners: deployment.status?.availableReplicas ?? 0 } };
  try {
    const asMerge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
    await customObjects.patchNamespacedCustomObjectStatus({ ...garden, body }, asMerge);
  } catch (error) {
    // The Garden is gone, and its Deployment will be.
    if (!(error instanceof ApiException && error.code === 404)) {
      throw error;
    }
  }
}
