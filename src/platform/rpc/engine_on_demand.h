// gRPC's event engine, made when gRPC first uses it. Calls over connections of our own never do,
// but gRPC would start four threads for it, one of which wakes up every second.
#pragma once

namespace kgpu::rpc {

// Call it before gRPC starts: before the first channel and server. Later calls change nothing.
// Thread: any.
void MakeEngineOnDemand();

}  // namespace kgpu::rpc
