// How containers get their devices: as configured, or as the runtime below the kubelet provably
// supports.
#pragma once

#include "src/container/cri/runtime_facts.h"
#include "src/node/config/node_config.h"
#include "src/node/plugin/answer_cache.h"
#include "src/platform/base/status.h"

namespace kgpu::plugin {

// `runtime`: the facts, or why there are none. `cdi`: whether our CDI specs are in `cdi_folder`.
// With kAuto: CDI names if the runtime provably reads the folder and the specs are there, else
// device nodes and mounts, which need no support by the runtime. The reason says which one and why.
Delivery DecideDelivery(const config::PluginConfig& config,
                        const StatusOr<cri::RuntimeFacts>& runtime, const Status& cdi,
                        std::string_view cdi_folder);

// "CdiCri", "DeviceSpecs+Mounts": for people and labels.
std::string ToString(const std::set<config::DeviceListStrategy>& strategies);

}  // namespace kgpu::plugin
