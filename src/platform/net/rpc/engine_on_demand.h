// Creates gRPC's event engine on first use. Calls over our own connections never use it, but gRPC
// would start four threads for it, one of which wakes up every second.
#pragma once

namespace kgpu::rpc {

// Call it before gRPC starts: before the first channel or server. Later calls have no effect.
// Thread: any.
void MakeEngineOnDemand();

}  // namespace kgpu::rpc
