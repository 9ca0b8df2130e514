package io.grpc.fxwatcher;

public class Handler {
  // Called once for each call of the function, with the caller's bytes. The process lives on between
  // calls: what is expensive to make can stay in a static field. For text, OpenFx's
  // `static String reply(ByteString input)` works as well.
  public static byte[] reply(byte[] input) {
    return input;
  }
}
