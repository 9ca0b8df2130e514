package io.grpc.fxwatcher;

import com.google.protobuf.ByteString;

public class Handler {
  // Called once for each call of the function, with the caller's bytes. The process lives on between
  // calls: what is expensive to make can stay in a static field.
  public static String reply(ByteString input) {
    return input.toStringUtf8();
  }
}
