// Attention from Java 17, with its own library: java Attention.java http://localhost:8080
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

public class Attention {
    record Tensor(int[] shape, float[] data) {}

    // A safetensors file: the header's length in eight bytes, the header as JSON, the numbers.
    static byte[] pack(Map<String, Tensor> tensors, String fields) {
        var header = new StringBuilder("{\"__metadata__\":{\"request\":\"" + fields.replace("\"", "\\\"") + "\"}");
        int end = 0;
        for (var entry : tensors.entrySet()) {
            int begin = end;
            end += 4 * entry.getValue().data().length;
            header.append(",\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%d,%d]}".formatted(
                entry.getKey(), Arrays.toString(entry.getValue().shape()), begin, end));
        }
        header.append("}").append(" ".repeat(-(header.length() + 1) & 7));
        var file = ByteBuffer.allocate(8 + header.length() + end).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(header.length()).put(header.toString().getBytes(StandardCharsets.UTF_8));
        for (var tensor : tensors.values())
            for (float x : tensor.data())
                file.putFloat(x);
        return file.array();
    }

    // A program with a JSON library reads the header with that.
    private static final Pattern ENTRY =
        Pattern.compile("\"([^\"]+)\":\\{\"dtype\":\"F32\",\"shape\":\\[([0-9, ]*)\\],\"data_offsets\":\\[(\\d+),(\\d+)\\]\\}");

    static Map<String, Tensor> unpack(byte[] bytes) {
        var file = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int length = (int) file.getLong();
        var tensors = new HashMap<String, Tensor>();
        var entry = ENTRY.matcher(new String(bytes, 8, length, StandardCharsets.UTF_8));
        while (entry.find()) {
            var shape = Arrays.stream(entry.group(2).split(", *")).filter(n -> !n.isEmpty()).mapToInt(Integer::parseInt).toArray();
            int begin = Integer.parseInt(entry.group(3));
            var data = new float[(Integer.parseInt(entry.group(4)) - begin) / 4];
            file.position(8 + length + begin);
            file.slice().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(data);
            tensors.put(entry.group(1), new Tensor(shape, data));
        }
        return tensors;
    }

    static Map<String, Tensor> attention(String url, Map<String, Tensor> tensors, String fields) throws Exception {
        String type = "application/x-safetensors";
        var request = HttpRequest.newBuilder(URI.create(url + "/attention"))
            .version(HttpClient.Version.HTTP_1_1).header("Content-Type", type).header("Accept", type)
            .POST(HttpRequest.BodyPublishers.ofByteArray(pack(tensors, fields))).build();
        var reply = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofByteArray());
        if (reply.statusCode() != 200)
            throw new RuntimeException(new String(reply.body(), StandardCharsets.UTF_8));
        return unpack(reply.body());
    }

    public static void main(String[] arguments) throws Exception {
        var tensors = new LinkedHashMap<String, Tensor>();
        tensors.put("query", new Tensor(new int[] {2, 2}, new float[] {1, 0, 0, 1}));
        tensors.put("key", new Tensor(new int[] {2, 2}, new float[] {1, 0, 0, 1}));
        tensors.put("value", new Tensor(new int[] {2, 1}, new float[] {10, 20}));
        var output = attention(arguments[0], tensors, "{\"causal\": true}").get("output").data();
        System.out.printf(Locale.ROOT, "%.4f %.4f%n", output[0], output[1]);
    }
}
