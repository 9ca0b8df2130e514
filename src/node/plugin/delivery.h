// How containers get their devices: what the configuration says, or what the runtime below the
// kubelet proves to understand.
#pragma once

#include "src/container/cri/runtime_facts.h"
#include "src/node/config/node_config.h"
#include "src/node/plugin/answer_cache.h"
#include "src/platform/base/status.h"

namespace kgpu::plugin {

// `runtime`: the facts, or why there are none. `cdi`: whether our CDI specs are in `cdi_folder`.
// With kAuto: CDI names where the runtime proves that it reads the folder and the specs are there,
// else device nodes and mounts, which need nothing of the runtime. The reason says which and why.
Delivery DecideDelivery(const config::PluginConfig& config,
                        const StatusOr<cri::RuntimeFacts>& runtime, const Status& cdi,
                        std::string_view cdi_folder);

// "CdiCri", "DeviceSpecs+Mounts": for people and labels.
std::string ToString(const std::set<config::DeviceListStrategy>& strategies);

}  // namespace kgpu::plugin
