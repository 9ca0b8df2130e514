// Streams whose calls become nodes of a graph instead of being done. With the library's lock held.
#pragma once

#include "testing/cuda/graphs.h"

namespace kgpu::simcuda {

// The graph that the stream's calls go to, or null: they are done. Cost without any capture: one
// comparison.
GraphObject* CapturingGraph(cuda_api::Stream stream);

// Adds an allocation to the graph; its memory comes with a launch.
Result CaptureAllocation(GraphObject* graph, const VisibleDevice& device, size_t size,
                         cuda_api::DevicePointer* pointer);
Result CaptureFree(GraphObject* graph, cuda_api::DevicePointer pointer);
Result CaptureLaunch(GraphObject* graph, const Launch& launch);

// For calls that are no node here: kSuccess if the stream does not capture, else its capture is
// lost.
Result RefuseCapture(cuda_api::Stream stream);

}  // namespace kgpu::simcuda
