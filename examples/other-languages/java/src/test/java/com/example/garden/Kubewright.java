package com.example.garden;

import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives tests a client of {@code kubewright apiserver}: one server for all tests, and a namespace for each, which is the client's.
 *
 * <p>Copy this file; nothing in it knows the operator.
 */
public final class Kubewright implements ParameterResolver {
  private static final ExtensionContext.Namespace STORE = ExtensionContext.Namespace.create(Kubewright.class);

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == KubernetesClient.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    // What is in the root's store ends with the last test, what is in a test's store with that, whether it has failed or not.
    Server server = context.getRoot().getStore(STORE).getOrComputeIfAbsent(Server.class, key -> Server.start(), Server.class);
    // By the test's own key: a store also has what is in the store of the class.
    return context.getStore(STORE)
        .getOrComputeIfAbsent(context.getUniqueId(), key -> server.clientOfNewNamespace(), KubernetesClient.class);
  }

  private record Server(Process process, Path folder) implements AutoCloseable {
    static Server start() {
      String command = System.getenv().getOrDefault("KUBEWRIGHT", "kubewright");
      try {
        Path folder = Files.createTempDirectory("kubewright");
        // The standard input of the process is a pipe, and the server ends when that does: also if the tests are killed.
        Process process = new ProcessBuilder(command, "apiserver", "--secure-port=0", "--controllers=all",
            "--kubeconfig-out=" + folder.resolve("kubeconfig"), "--stop-with-stdin")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
        // It prints its address once it answers and the kubeconfig is written.
        String line = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
        if (line == null) {
          throw new IOException("the API server has not started: its error is above");
        }
        return new Server(process, folder);
      } catch (IOException error) {
        throw new UncheckedIOException("cannot start " + command + ": install kubewright, or say where it is by $KUBEWRIGHT", error);
      }
    }

    KubernetesClient clientOfNewNamespace() {
      Config config = Config.fromKubeconfig(folder.resolve("kubeconfig").toFile());
      try (KubernetesClient admin = new KubernetesClientBuilder().withConfig(config).build()) {
        Namespace namespace = new NamespaceBuilder().withNewMetadata().withGenerateName("test-").endMetadata().build();
        config.setNamespace(admin.resource(namespace).create().getMetadata().getName());
      }
      return new KubernetesClientBuilder().withConfig(config).build();
    }

    @Override
    public void close() throws IOException, InterruptedException {
      process.getOutputStream().close();
      process.waitFor();
      Files.deleteIfExists(folder.resolve("kubeconfig"));
      Files.deleteIfExists(folder);
    }
  }
}
