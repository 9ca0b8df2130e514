// gRPC's callback threads wait for one second, then sleep for 100 ms, and so on: two idle threads
// wake up four times a second, and a call that arrives while they sleep waits for them. The linker
// (--wrap) replaces the function they wait in with the one below, which waits until there is work.
// Shutting down the queue wakes them. A deadline that has passed already is kept: a server that
// shuts down with one asks whether its calls have ended, and cancels them if not.
// Source: gRPC 1.51, src/cpp/common/completion_queue_cc.cc, CallbackAlternativeCQ.
#include <grpc/grpc.h>
#include <grpc/support/time.h>

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
extern "C" {

grpc_event __real_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved);

grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved);

grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved) {
  const bool has_passed = gpr_time_cmp(deadline, gpr_now(deadline.clock_type)) <= 0;
  return __real_grpc_completion_queue_next(
      queue, has_passed ? deadline : gpr_inf_future(GPR_CLOCK_REALTIME), reserved);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
