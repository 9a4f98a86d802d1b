// SPDX-License-Identifier: Apache-2.0

import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** Client ORIGIN ROW…: as client.py, by java.net.http; a row is NAME|PATH|HOW|FIELD|BEFORE|USER. */
public class Client {
    public static void main(String[] args) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        List<String> kept = new ArrayList<>();

        for (int i = 1; i < args.length; i++) {
            String[] row = args[i].split("\\|", -1);
            String value = System.getenv(row[0]), url = args[0] + row[1];
            if (row[2].equals("query")) url += "?key=" + URLEncoder.encode(value, StandardCharsets.UTF_8);
            HttpRequest.Builder q = HttpRequest.newBuilder(URI.create(url));
            if (row[2].equals("basic"))
                q.header("Authorization", "Basic " + Base64.getEncoder().encodeToString((row[5] + ":" + value).getBytes(StandardCharsets.UTF_8)));
            else if (row[2].equals("header")) q.header(row[3], row[4] + value);
            kept.add(client.send(q.build(), HttpResponse.BodyHandlers.ofString()).body());
        }
        System.out.println("made " + kept.size());
        while (System.in.read() >= 0) continue;
        System.exit(kept.isEmpty() ? 1 : 0);
    }
}
