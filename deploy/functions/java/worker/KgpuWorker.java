// The worker of Java functions: answers the calls of kgpu-fnwatch with io.grpc.fxwatcher.Handler.
// The protocol is on descriptors 3 (to us) and 4 (from us): docs/how-it-works/function-watchdog.md.
// What the handler prints is its log. Needs no library besides the JDK's; protobuf's ByteString is
// found at run time, if a handler takes one.
//
// The handler has one of these methods; the name is HANDLER_NAME, or reply:
//   static String reply(ByteString input)    as in OpenFx
//   static String reply(byte[] input)
//   static byte[] reply(byte[] input)
//   static void reply(KgpuWorker.Call call) throws Exception    sees headers, and may stream
package io.grpc.fxwatcher;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

public final class KgpuWorker {
  private static final int HEAD = 12;
  private static final int MAX_PAYLOAD = 1 << 20;
  private static final int MAX_FAILURE = 16384;

  /** One call. A handler uses it from its own thread. */
  public static final class Call {
    private final int number;
    private final KgpuWorker worker;
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final Map<String, Object> about;
    private final Map<String, List<String>> responseHeaders = new LinkedHashMap<>();
    private int status = 200;
    private boolean hasHead;
    private byte[] input;
    private volatile boolean isGivenUp;

    private Call(int number, KgpuWorker worker, Map<String, Object> about) {
      this.number = number;
      this.worker = worker;
      this.about = about;
    }

    public byte[] input() { return input; }
    public String id() { return (String) about.get("id"); }
    public String method() { return (String) about.get("method"); }
    /** As received: escapes are not decoded. */
    public String path() { return (String) about.get("path"); }
    public String query() { return (String) about.get("query"); }
    /** A header by its name in lower case; null if there is none. */
    public String header(String name) {
      return (String) ((Map<?, ?>) about.get("headers")).get(name);
    }
    /** Whether nobody waits for the answer any more. */
    public boolean isGivenUp() { return isGivenUp; }
    /** Before the first write. */
    public void setStatus(int code) { status = code; }
    /** Before the first write. */
    public void setHeader(String name, String value) {
      responseHeaders.put(name, new ArrayList<>(List.of(value)));
    }
    /** One field more of this name, such as a second Set-Cookie. Before the first write. */
    public void addHeader(String name, String value) {
      responseHeaders.computeIfAbsent(name, unused -> new ArrayList<>()).add(value);
    }

    /** Sends a piece of the answer now. */
    public void write(byte[] bytes) throws IOException {
      if (isGivenUp) {
        throw new EOFException("nobody waits for the answer");
      }
      sendHead();
      for (int at = 0; at < bytes.length; at += MAX_PAYLOAD) {
        worker.send('D', number, Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + MAX_PAYLOAD)));
      }
    }

    public void write(String text) throws IOException { write(text.getBytes(StandardCharsets.UTF_8)); }

    private void sendHead() {
      if (hasHead) {
        return;
      }
      hasHead = true;
      if (status == 200 && responseHeaders.isEmpty()) {
        return;
      }
      StringBuilder head = new StringBuilder("{\"status\":" + status + ",\"headers\":{");
      String separator = "";
      for (Map.Entry<String, List<String>> header : responseHeaders.entrySet()) {
        String values = header.getValue().stream().map(KgpuWorker::quoted).collect(Collectors.joining(","));
        head.append(separator).append(quoted(header.getKey())).append(":[").append(values).append(']');
        separator = ",";
      }
      byte[] bytes = head.append("}}").toString().getBytes(StandardCharsets.UTF_8);
      // A longer one is refused, as it would be whole, but for this call only.
      worker.send('H', number, Arrays.copyOf(bytes, Math.min(bytes.length, MAX_PAYLOAD)));
    }
  }

  private final OutputStream output = new FileOutputStream("/proc/self/fd/4");
  private final Map<Integer, Call> calls = new ConcurrentHashMap<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Method handler;

  private KgpuWorker(Method handler) throws IOException { this.handler = handler; }

  private void send(char type, int call, byte[] payload) {
    ByteBuffer frame = ByteBuffer.allocate(HEAD + payload.length).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(payload.length).put((byte) type).put((byte) 0).putShort((short) 0).putInt(call).put(payload);
    try {
      synchronized (output) {
        output.write(frame.array());
      }
    } catch (IOException gone) {
      Runtime.getRuntime().halt(0); // the watchdog is gone
    }
  }

  // True: the watchdog wants no more; false: it is gone.
  private boolean read(DataInputStream input) throws IOException {
    byte[] head = new byte[HEAD];
    while (true) {
      try {
        input.readFully(head);
        ByteBuffer fields = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
        byte[] payload = new byte[fields.getInt(0)];
        input.readFully(payload);
        if (head[4] == 'Q') {
          return true;
        }
        take((char) head[4], fields.getInt(8), payload);
      } catch (EOFException end) {
        return false;
      }
    }
  }

  private void take(char type, int number, byte[] payload) throws IOException {
    if (type == 'C') {
      Json json = new Json(new String(payload, StandardCharsets.UTF_8));
      calls.put(number, new Call(number, this, json.object()));
      return;
    }
    Call call = calls.get(number);
    if (call == null) {
      return;
    }
    if (type == 'D') {
      call.received.write(payload);
    } else if (type == 'X') {
      call.isGivenUp = true;
    } else if (type == 'E') {
      threads.execute(() -> run(call));
    }
  }

  private void run(Call call) {
    call.input = call.received.toByteArray();
    call.received.reset();
    try {
      answer(call);
      send('E', call.number, new byte[0]);
    } catch (Throwable failure) {
      if (failure instanceof EOFException && call.isGivenUp) {
        send('E', call.number, new byte[0]);
      } else {
        failure.printStackTrace();
        byte[] text = failure.toString().getBytes(StandardCharsets.UTF_8);
        send('F', call.number, Arrays.copyOf(text, Math.min(text.length, MAX_FAILURE)));
      }
    } finally {
      calls.remove(call.number);
    }
  }

  private void answer(Call call) throws Throwable {
    try {
      Object result = handler.invoke(null, argumentOf(call));
      if (result instanceof String) {
        call.write((String) result);
      } else if (result instanceof byte[]) {
        call.write((byte[]) result);
      }
      call.sendHead();
    } catch (InvocationTargetException thrown) {
      throw thrown.getCause();
    }
  }

  private Object argumentOf(Call call) throws ReflectiveOperationException {
    Class<?> type = handler.getParameterTypes()[0];
    if (type == Call.class) {
      return call;
    }
    if (type == byte[].class) {
      return call.input;
    }
    return type.getMethod("copyFrom", byte[].class).invoke(null, (Object) call.input);
  }

  private static boolean canTake(Class<?> type) {
    return type == byte[].class || type == Call.class
        || type.getName().equals("com.google.protobuf.ByteString");
  }

  private static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }

  /** Reads what kgpu-fnwatch writes: objects of texts, numbers and such objects. */
  private static final class Json {
    private final String text;
    private int at;

    Json(String text) { this.text = text; }

    Map<String, Object> object() {
      Map<String, Object> members = new LinkedHashMap<>();
      at++;
      while (text.charAt(at) != '}') {
        String name = string();
        at++;
        members.put(name, value());
        if (text.charAt(at) == ',') {
          at++;
        }
      }
      at++;
      return members;
    }

    private Object value() {
      if (text.charAt(at) == '{') {
        return object();
      }
      if (text.charAt(at) == '"') {
        return string();
      }
      int begin = at;
      while (text.charAt(at) != ',' && text.charAt(at) != '}') {
        at++;
      }
      return Long.valueOf(text.substring(begin, at));
    }

    private String string() {
      StringBuilder out = new StringBuilder();
      for (at++; text.charAt(at) != '"'; at++) {
        char c = text.charAt(at);
        if (c == '\\' && text.charAt(++at) == 'u') {
          out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
          at += 4;
        } else {
          out.append(text.charAt(at));
        }
      }
      at++;
      return out.toString();
    }
  }

  private static Method findHandler() throws ReflectiveOperationException {
    String name = System.getenv().getOrDefault("HANDLER_NAME", "");
    Class<?> type = Class.forName("io.grpc.fxwatcher.Handler");
    for (String candidate : new String[] {name, "reply"}) {
      for (Method method : type.getDeclaredMethods()) {
        Class<?>[] takes = method.getParameterTypes();
        if (method.getName().equals(candidate) && takes.length == 1 && canTake(takes[0])) {
          method.setAccessible(true);
          return method;
        }
      }
    }
    throw new NoSuchMethodException("Handler: no method reply(ByteString), reply(byte[]) or "
        + "reply(KgpuWorker.Call): check handler.name in config.yaml");
  }

  public static void main(String[] arguments) throws Exception {
    KgpuWorker worker = new KgpuWorker(findHandler());
    String concurrency = System.getenv().getOrDefault("KGPU_FN_CONCURRENCY", "1");
    worker.send('R', 0, ("{\"concurrent\":" + (Integer.parseInt(concurrency) > 1) + ",\"runtime\":"
        + quoted("java " + System.getProperty("java.version")) + "}").getBytes(StandardCharsets.UTF_8));
    if (worker.read(new DataInputStream(new FileInputStream("/proc/self/fd/3")))) {
      worker.threads.shutdown();
      worker.threads.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
    }
    Runtime.getRuntime().halt(0);
  }
}
