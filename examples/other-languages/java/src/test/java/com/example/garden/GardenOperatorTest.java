package com.example.garden;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What the operator promises, on a real API server with Pods. */
@ExtendWith(Kubewright.class)
class GardenOperatorTest {
  @BeforeAll
  static void define(KubernetesClient client) {
    client.load(GardenOperatorTest.class.getResourceAsStream("/garden-crd.yaml")).serverSideApply();
  }

  @Test
  void aGardenGetsLabelsForItsPlants(KubernetesClient client) throws Exception {
    try (GardenOperator operator = new GardenOperator(client)) {
      client.resource(garden(List.of("rose"), null)).create();
      Resource<ConfigMap> labels = client.configMaps().withName("roses-labels");
      eventually(labels, found -> found.getData().equals(Map.of("rose", "water me")));

      client.resources(Garden.class).withName("roses").edit(garden -> {
        garden.getSpec().plants = List.of("tulip");
        return garden;
      });
      eventually(labels, found -> found.getData().equals(Map.of("tulip", "water me")));
    }
  }

  @Test
  void gardenersAreCountedWhenTheirPodsAreReady(KubernetesClient client) throws Exception {
    try (GardenOperator operator = new GardenOperator(client)) {
      client.resource(garden(List.of("rose"), 2)).create();
      Resource<Garden> roses = client.resources(Garden.class).withName("roses");
      eventually(roses, found -> found.getStatus() != null && found.getStatus().readyGardeners == 2);
      List<Pod> pods = client.pods().withLabel("app", "roses-gardeners").list().getItems();
      assertEquals(List.of("Running", "Running"), pods.stream().map(pod -> pod.getStatus().getPhase()).toList());
    }
  }

  @Test
  void whatAGardenHadGoesWithIt(KubernetesClient client) throws Exception {
    try (GardenOperator operator = new GardenOperator(client)) {
      client.resource(garden(List.of("rose"), null)).create();
      Resource<ConfigMap> labels = client.configMaps().withName("roses-labels");
      eventually(labels, Objects::nonNull);

      client.resources(Garden.class).withName("roses").delete();
      labels.waitUntilCondition(Objects::isNull, 30, TimeUnit.SECONDS);
    }
  }

  @Test
  void aGardenWithoutPlantsIsRefused(KubernetesClient client) {
    Garden empty = garden(List.of(), null);
    KubernetesClientException refused = assertThrows(KubernetesClientException.class, () -> client.resource(empty).create());
    assertEquals(422, refused.getCode());
    assertTrue(refused.getMessage().contains("spec.plants in body should have at least 1 items"), refused.getMessage());
  }

  private static Garden garden(List<String> plants, Integer gardeners) {
    Garden garden = new Garden();
    garden.getMetadata().setName("roses");
    garden.setSpec(new Garden.Spec());
    garden.getSpec().plants = plants;
    garden.getSpec().gardeners = gardeners;
    return garden;
  }

  /** Waits by watch events, not by asking again and again. */
  private static <T> void eventually(Resource<T> resource, Predicate<T> isSo) {
    resource.waitUntilCondition(found -> found != null && isSo.test(found), 30, TimeUnit.SECONDS);
  }
}
