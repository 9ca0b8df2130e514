#include "testing/cuda/capture.h"

#include <cstdlib>

namespace kgpu::simcuda {
namespace {

using cuda_api::kInvalidValue;
using cuda_api::kOutOfMemory;
using cuda_api::Stream;

struct Capture {
  Capture* next;
  Stream stream;
  GraphObject* graph;
  bool is_lost;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit Capture* captures = nullptr;

Capture** FindCapture(Stream stream) {
  Capture** at = &captures;
  while (*at != nullptr && (*at)->stream != stream) {
    at = &(*at)->next;
  }
  return at;
}

Result Begin(Stream stream) {
  const ContextCall call("cuStreamBeginCapture");
  if (const Result checked = call.Check(true); checked != kSuccess) {
    return checked;
  }
  // The stream for calls without a stream waits for all others: it cannot capture.
  if (reinterpret_cast<uintptr_t>(stream) <= cuda_api::kStreamLegacy) {
    return cuda_api::kStreamCaptureUnsupported;
  }
  if (*FindCapture(stream) != nullptr) {
    return cuda_api::kIllegalState;
  }
  auto* made = static_cast<Capture*>(malloc(sizeof(Capture)));
  GraphObject* graph = made == nullptr ? nullptr : AddGraph(false);
  if (graph == nullptr) {
    free(made);
    return kOutOfMemory;
  }
  *made = {.next = captures, .stream = stream, .graph = graph, .is_lost = false};
  captures = made;
  return kSuccess;
}

Result AddCaptured(GraphObject* graph, const NodeObject& node) {
  return AddNode(graph, node) == nullptr ? kOutOfMemory : kSuccess;
}

}  // namespace

GraphObject* CapturingGraph(Stream stream) {
  const Capture* capture = captures == nullptr ? nullptr : *FindCapture(stream);
  return capture == nullptr ? nullptr : capture->graph;
}

Result CaptureAllocation(GraphObject* graph, const VisibleDevice& device, size_t size,
                         cuda_api::DevicePointer* pointer) {
  NodeObject node{};
  node.type = cuda_api::kNodeMemoryAllocation;
  node.space = MakeSpace(device, size);
  if (node.space == nullptr) {
    return kOutOfMemory;
  }
  *pointer = node.space->start;
  node.params.size = size;
  node.params.pointer = node.space->start;
  const Result added = AddCaptured(graph, node);
  ReleaseSpace(node.space);  // the node has it now
  return added;
}

Result CaptureFree(GraphObject* graph, cuda_api::DevicePointer pointer) {
  NodeObject node{};
  node.type = cuda_api::kNodeMemoryFree;
  node.freed = pointer;
  return FindSpace(pointer) == nullptr ? kInvalidValue : AddCaptured(graph, node);
}

Result CaptureLaunch(GraphObject* graph, const Launch& launch) {
  NodeObject node{};
  node.type = cuda_api::kNodeKernel;
  node.launch = launch;
  return AddCaptured(graph, node);
}

Result RefuseCapture(Stream stream) {
  Capture* capture = captures == nullptr ? nullptr : *FindCapture(stream);
  if (capture == nullptr) {
    return kSuccess;
  }
  capture->is_lost = true;
  return cuda_api::kStreamCaptureUnsupported;
}

}  // namespace kgpu::simcuda

using kgpu::cuda_api::CaptureMode;
using kgpu::cuda_api::CaptureStatus;
using kgpu::cuda_api::Graph;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::cuda_api::Stream;
using kgpu::simcuda::Capture;
using kgpu::simcuda::ContextCall;
using kgpu::simcuda::FindCapture;

KGPU_CUDA cuStreamBeginCapture_v2(Stream stream, CaptureMode) {
  return kgpu::simcuda::Begin(stream);
}
KGPU_CUDA cuStreamBeginCapture_v2_ptsz(Stream, CaptureMode)
    KGPU_CUDA_ALIAS(cuStreamBeginCapture_v2);
KGPU_CUDA cuStreamBeginCapture(Stream stream) {
  return kgpu::simcuda::Begin(stream);
}

KGPU_CUDA cuStreamEndCapture(Stream stream, Graph* graph) {
  const ContextCall call("cuStreamEndCapture");
  Capture** at = FindCapture(stream);
  const Result checked = call.Check(graph != nullptr);
  if (checked != kSuccess || *at == nullptr) {
    return checked != kSuccess ? checked : kgpu::cuda_api::kIllegalState;
  }
  Capture* capture = *at;
  *at = capture->next;
  *graph = capture->is_lost ? nullptr : reinterpret_cast<Graph>(capture->graph);
  if (capture->is_lost) {
    kgpu::simcuda::DestroyGraph(capture->graph);
  }
  free(capture);
  return *graph == nullptr ? kgpu::cuda_api::kStreamCaptureInvalidated : kSuccess;
}
KGPU_CUDA cuStreamEndCapture_ptsz(Stream, Graph*) KGPU_CUDA_ALIAS(cuStreamEndCapture);

KGPU_CUDA cuStreamIsCapturing(Stream stream, CaptureStatus* status) {
  const ContextCall call("cuStreamIsCapturing");
  const Result checked = call.Check(status != nullptr);
  if (checked != kSuccess) {
    return checked;
  }
  const Capture* capture = *FindCapture(stream);
  *status = capture == nullptr ? kgpu::cuda_api::kCaptureNone
            : capture->is_lost ? kgpu::cuda_api::kCaptureInvalidated
                               : kgpu::cuda_api::kCaptureActive;
  return kSuccess;
}
KGPU_CUDA cuStreamIsCapturing_ptsz(Stream, CaptureStatus*) KGPU_CUDA_ALIAS(cuStreamIsCapturing);
