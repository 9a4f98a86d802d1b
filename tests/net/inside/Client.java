// SPDX-License-Identifier: Apache-2.0
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Client HOST PORT: the HTTP client of Java's own library. */
public class Client {
	public static void main(String[] arguments) throws Exception {
		URI place = URI.create("http://" + arguments[0] + ":" + arguments[1] + "/");
		HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
			.connectTimeout(Duration.ofSeconds(60)).build();
		HttpRequest request = HttpRequest.newBuilder(place).timeout(Duration.ofSeconds(60)).build();

		System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
	}
}
