package com.example.garden;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Gives each Garden of the client's namespace a ConfigMap with the labels of its plants, and a Deployment of gardeners. */
public final class GardenOperator implements AutoCloseable {
  /** On the gardeners' Deployment, with the name of their Garden. */
  private static final String GARDEN = "example.com/garden";

  private static final Logger LOG = LoggerFactory.getLogger(GardenOperator.class);

  private final KubernetesClient client;
  /** One thing after the other, so that an older state never overwrites a newer one. */
  private final ScheduledThreadPoolExecutor work = new ScheduledThreadPoolExecutor(1);
  private final SharedIndexInformer<Garden> gardens;
  private final SharedIndexInformer<Deployment> gardeners;

  /** Starts it. */
  public GardenOperator(KubernetesClient client) {
    this.client = client;
    work.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    this.gardens = client.resources(Garden.class).inform(new OnChange<>(garden -> queue(() -> plant(garden))));
    this.gardeners = client.apps().deployments().withLabel(GARDEN)
        .inform(new OnChange<>(deployment -> queue(() -> report(deployment))));
  }

  /** Stops it, once what it is doing is done. */
  @Override
  public void close() throws InterruptedException {
    work.shutdown();
    work.awaitTermination(30, TimeUnit.SECONDS);
    gardens.close();
    gardeners.close();
  }

  private void queue(Runnable task) {
    try {
      work.execute(() -> attempt(task));
    } catch (RejectedExecutionException stopping) {
      LOG.debug("the operator stops");
    }
  }

  private void attempt(Runnable task) {
    try {
      task.run();
    } catch (KubernetesClientException error) {
      LOG.warn("tried again in a second", error);
      if (!work.isShutdown()) {
        work.schedule(() -> attempt(task), 1, TimeUnit.SECONDS);
      }
    }
  }

  private void plant(Garden garden) {
    if (garden.isMarkedForDeletion()) {
      return;
    }
    String name = garden.getMetadata().getName();
    ConfigMap labels = new ConfigMapBuilder()
        .withNewMetadata()
        .withName(name + "-labels")
        .endMetadata()
        .withData(garden.getSpec().plants.stream().collect(Collectors.toMap(plant -> plant, plant -> "water me")))
        .build();
    Map<String, String> pod = Map.of("app", name + "-gardeners");
    Deployment deployment = new DeploymentBuilder()
        .withNewMetadata()
        .withName(name + "-gardeners")
        .addToLabels(GARDEN, name)
        .endMetadata()
        .withNewSpec()
        .withReplicas(garden.getSpec().gardeners)
        .withNewSelector()
        .withMatchLabels(pod)
        .endSelector()
        .withNewTemplate()
        .withNewMetadata()
        .withLabels(pod)
        .endMetadata()
        .withNewSpec()
        .addNewContainer()
        .withName("gardener")
        .withImage("example.com/gardener:1")
        .endContainer()
        .endSpec()
        .endTemplate()
        .endSpec()
        .build();
    apply(garden, labels);
    apply(garden, deployment);
  }

  /** The Garden becomes its owner: the garbage collector deletes it with the Garden. */
  private void apply(Garden garden, HasMetadata child) {
    OwnerReference owner = new OwnerReferenceBuilder()
        .withApiVersion(garden.getApiVersion())
        .withKind(garden.getKind())
        .withName(garden.getMetadata().getName())
        .withUid(garden.getMetadata().getUid())
        .withController(true)
        .build();
    child.addOwnerReference(owner);
    client.resource(child).fieldManager("garden-operator").forceConflicts().serverSideApply();
  }

  private void report(Deployment deployment) {
    Integer available = deployment.getStatus() == null ? null : deployment.getStatus().getAvailableReplicas();
    String name = deployment.getMetadata().getLabels().get(GARDEN);
    Garden garden = client.resources(Garden.class).withName(name).get();
    if (garden == null) {
      return; // Its Deployment will be gone, too.
    }
    Garden.Status status = new Garden.Status();
    status.readyGardeners = available == null ? 0 : available;
    garden.setStatus(status);
    // Without a version: what another one changed meanwhile is no reason to fail.
    garden.getMetadata().setResourceVersion(null);
    client.resource(garden).patchStatus();
  }

  /** Does one thing whenever an object is there or has changed. */
  private record OnChange<T>(Consumer<T> reconcile) implements ResourceEventHandler<T> {
    @Override
    public void onAdd(T object) {
      reconcile.accept(object);
    }

    @Override
    public void onUpdate(T before, T object) {
      reconcile.accept(object);
    }

    @Override
    public void onDelete(T object, boolean unknown) {}
  }
}
