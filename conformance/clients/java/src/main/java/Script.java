import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.LocalPortForward;
import io.fabric8.kubernetes.client.NamespacedKubernetesClient;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.ContainerResource;
import io.fabric8.kubernetes.client.dsl.ExecWatch;
import io.fabric8.kubernetes.client.dsl.LogWatch;
import io.fabric8.kubernetes.client.dsl.PodResource;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The script of conformance/clients with fabric8's client and its defaults: watches, logs and connections are WebSockets where it asks for them. */
public final class Script {
  private static final String POD = "web";
  private static final String CONTAINER = "app";
  private static final int PORT = Integer.parseInt(System.getenv().getOrDefault("POD_PORT", "8080"));
  private static final String NAME = "java-script";

  private interface Step {
    void run() throws Exception;
  }

  private final KubernetesClient client;
  private final Resource<ConfigMap> map;
  private final PodResource pod;

  private Script(KubernetesClient client) {
    this.client = client;
    this.map = client.configMaps().withName(NAME);
    this.pod = client.pods().withName(POD);
  }

  public static void main(String[] arguments) throws Exception {
    // $KUBECONFIG says where.
    try (KubernetesClient connection = new KubernetesClientBuilder().build()) {
      KubernetesClient client = connection.adapt(NamespacedKubernetesClient.class).inNamespace("default");
      Script script = new Script(client);
      if (List.of(arguments).equals(List.of("refusals"))) {
        script.refusals();
        System.exit(0);
      }
      Map<String, Step> steps = new LinkedHashMap<>();
      steps.put("list", script::list);
      steps.put("create, watch", script::createAndWatch);
      steps.put("patch", script::patch);
      steps.put("apply", script::apply);
      steps.put("delete", script.map::delete);
      steps.put("logs -f", script::logs);
      steps.put("exec", script::exec);
      steps.put("port-forward", script::portForward);
      for (Map.Entry<String, Step> step : steps.entrySet()) {
        step.getValue().run();
        System.out.println("ok " + step.getKey());
      }
    }
    // Nothing that a client left open keeps the process.
    System.exit(0);
  }

  private static void expect(Object expected, Object found) {
    if (!expected.equals(found)) {
      throw new AssertionError("expected " + expected + ", found " + found);
    }
  }

  private void list() {
    expect(List.of(POD + " Running"), client.pods().list().getItems().stream()
        .map(found -> found.getMetadata().getName() + " " + found.getStatus().getPhase()).toList());
  }

  private void createAndWatch() throws Exception {
    CompletableFuture<String> seen = new CompletableFuture<>();
    Watcher<ConfigMap> watcher = new Watcher<>() {
      @Override
      public void eventReceived(Action action, ConfigMap object) {
        seen.complete(action + " " + object.getData());
      }

      @Override
      public void onClose(WatcherException cause) {
        seen.completeExceptionally(cause);
      }
    };
    try (Watch watch = map.watch(watcher)) {
      ConfigMap made = new ConfigMapBuilder().withNewMetadata().withName(NAME).endMetadata().addToData("a", "1").build();
      client.resource(made).create();
      expect("ADDED {a=1}", seen.get(1, TimeUnit.MINUTES));
    }
  }

  private void patch() {
    Map<PatchType, String> patches = Map.of(
        PatchType.JSON, "[{\"op\": \"replace\", \"path\": \"/data/a\", \"value\": \"%s\"}]",
        PatchType.JSON_MERGE, "{\"data\": {\"a\": \"%s\"}}",
        PatchType.STRATEGIC_MERGE, "{\"data\": {\"a\": \"%s\"}}");
    patches.forEach((kind, patch) -> {
      ConfigMap patched = map.patch(PatchContext.of(kind), String.format(patch, kind));
      expect(Map.of("a", kind.toString()), patched.getData());
    });
  }

  private void apply() {
    ConfigMap wanted = new ConfigMapBuilder().withNewMetadata().withName(NAME).endMetadata().addToData("b", "2").build();
    ConfigMap applied = client.resource(wanted).fieldManager(NAME).serverSideApply();
    expect("2", applied.getData().get("b"));
    expect(2, applied.getData().size());
  }

  private void logs() throws Exception {
    try (LogWatch log = pod.inContainer(CONTAINER).tailingLines(0).watchLog();
        BufferedReader lines = new BufferedReader(new InputStreamReader(log.getOutput(), StandardCharsets.UTF_8))) {
      String line = lines.readLine();
      expect(true, line != null && line.startsWith("tick "));
    }
  }

  private void exec() throws Exception {
    ByteArrayOutputStream stdout = new ByteArrayOutputStream();
    ByteArrayOutputStream stderr = new ByteArrayOutputStream();
    ContainerResource container = pod.inContainer(CONTAINER);
    try (ExecWatch running = container.redirectingInput().writingOutput(stdout).writingError(stderr).exec("app", "read-line")) {
      running.getInput().write("hello\n".getBytes(StandardCharsets.UTF_8));
      running.getInput().flush();
      expect(0, running.exitCode().get(1, TimeUnit.MINUTES));
      expect("hello\n", stdout.toString(StandardCharsets.UTF_8));
      expect("", stderr.toString(StandardCharsets.UTF_8));
    }
    stdout.reset();
    try (ExecWatch running = container.writingOutput(stdout).writingError(stderr).exec("app", "fail")) {
      expect(3, running.exitCode().get(1, TimeUnit.MINUTES));
      expect("so far so good\n", stdout.toString(StandardCharsets.UTF_8));
      expect("oh no\n", stderr.toString(StandardCharsets.UTF_8));
    }
  }

  /** Prints what is said where there is no container to connect to. */
  private void refusals() {
    client.resource(new PodBuilder()
        .withNewMetadata().withName("nowhere").endMetadata()
        .withNewSpec().withSchedulerName("nobody").addNewContainer().withName(CONTAINER).withImage("app:1").endContainer().endSpec()
        .build()).create();
    for (String name : List.of("nowhere", "missing")) {
      tell("exec, " + name, () -> client.pods().withName(name).inContainer(CONTAINER).writingOutput(new ByteArrayOutputStream())
          .exec("app", "cat").exitCode().get(1, TimeUnit.MINUTES));
    }
    tell("logs, missing", () -> client.pods().withName("missing").inContainer(CONTAINER).getLog());
    client.pods().withName("nowhere").delete();
  }

  private static void tell(String what, Step step) {
    try {
      step.run();
      System.out.println(what + ": no error");
    } catch (Exception failed) {
      // Where the server's words got lost, the innermost error is the only one that says something.
      Throwable error = failed;
      while (error.getCause() != null && (!(error instanceof KubernetesClientException refused) || refused.getStatus() == null)) {
        error = error.getCause();
      }
      System.out.println(what + ": " + (error instanceof KubernetesClientException refused && refused.getStatus() != null
          ? refused.getCode() + ": " + refused.getStatus().getMessage()
          : error.getMessage()));
    }
  }

  private void portForward() throws Exception {
    try (LocalPortForward forward = pod.portForward(PORT)) {
      HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
      URI address = URI.create("http://127.0.0.1:" + forward.getLocalPort() + "/");
      HttpResponse<String> answer = http.send(HttpRequest.newBuilder(address).build(), HttpResponse.BodyHandlers.ofString());
      expect("hello from web\n", answer.body());
    }
  }
}
