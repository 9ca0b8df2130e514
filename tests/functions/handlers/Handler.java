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
      case "cookies":
        call.setHeader("Set-Cookie", "a=1; Path=/");
        call.addHeader("Set-Cookie", "b=2; Path=/");
        call.setHeader("X-Number", "7");
        call.write("set");
        return;
      case "bad-status": call.setStatus(999); break;
      case "bad-name": call.setHeader("Bad Header", "x"); break;
      case "bad-value": call.setHeader("X-A", "x\r\nSet-Cookie: stolen=1"); break;
      case "big-head": call.setHeader("X-A", "x".repeat(2 << 20)); break;
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
