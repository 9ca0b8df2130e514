package io.grpc.fxwatcher;

import java.nio.charset.StandardCharsets;

class Handler {
  static void reply(KgpuWorker.Call call) throws Exception {
    byte[] input = call.input();
    String[] words = new String(input, 0, Math.min(input.length, 100), StandardCharsets.ISO_8859_1)
        .split("[ \n]");
    switch (words.length > 0 ? words[0] : "") {
      case "throw": throw new IllegalArgumentException("no such thing");
      case "exit": Runtime.getRuntime().halt(3); break;
      case "crash": new ProcessBuilder("/bin/kill", "-9", "" + ProcessHandle.current().pid()).start().waitFor(); break;
      case "hang": Thread.sleep(Long.MAX_VALUE); break;
      case "flood":
        while (true) {
          call.write(new byte[65536]);
        }
      case "head":
        call.setStatus(418);
        call.setHeader("X-Pot", "tea");
        call.write(call.method() + " " + call.path() + " " + call.query() + " "
            + call.header("traceparent") + " " + call.id());
        return;
      case "stream":
        for (int i = 0; i < Integer.parseInt(words[1]); i++) {
          call.write("piece " + i + "\n");
        }
        return;
      case "print":
        System.out.println("a line of the log");
        System.err.println("an error of the log");
        break;
      default:
    }
    call.write(input);
  }
}
