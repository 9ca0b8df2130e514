// The words in configuration files for enumeration values: one table each, for readers and printers
// alike.
#pragma once

#include <array>

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::config {

inline constexpr std::array kMigStrategyWords = {
    Word<MigStrategy>{"none", MigStrategy::kNone},
    Word<MigStrategy>{"single", MigStrategy::kSingle},
    Word<MigStrategy>{"mixed", MigStrategy::kMixed},
};

// Of pools alone.
inline constexpr std::array kPoolMigWords = {
    kMigStrategyWords[0],
    kMigStrategyWords[1],
    kMigStrategyWords[2],
    Word<MigStrategy>{"dynamic", MigStrategy::kDynamic},
};

inline constexpr std::array kProviderWords = {
    Word<Provider>{"kubelet", Provider::kKubelet},
    Word<Provider>{"dra", Provider::kClaims},
    Word<Provider>{"local", Provider::kLocal},
};

inline constexpr std::array kServeWords = {
    Word<Provider>{"device-plugin", Provider::kKubelet},
    Word<Provider>{"dra", Provider::kClaims},
};

inline constexpr std::array kMultipleWords = {
    Word<sharing::MultipleSlots>{"allow", sharing::MultipleSlots::kAllow},
    Word<sharing::MultipleSlots>{"refuse", sharing::MultipleSlots::kRefuse},
    Word<sharing::MultipleSlots>{"spread", sharing::MultipleSlots::kSpread},
};

inline constexpr std::array kUnknownApiWords = {
    Word<sharing::UnknownApi>{"refuse", sharing::UnknownApi::kRefuse},
    Word<sharing::UnknownApi>{"flag", sharing::UnknownApi::kFlag},
};

inline constexpr std::array kOnExcessWords = {
    Word<sharing::OnExcess>{"event", sharing::OnExcess::kEvent},
    Word<sharing::OnExcess>{"evict", sharing::OnExcess::kEvict},
    Word<sharing::OnExcess>{"kill", sharing::OnExcess::kKill},
};

inline constexpr std::array kStrategyWords = {
    Word<DeviceListStrategy>{"auto", DeviceListStrategy::kAuto},
    Word<DeviceListStrategy>{"cdi-cri", DeviceListStrategy::kCdiCri},
    Word<DeviceListStrategy>{"cdi-annotations", DeviceListStrategy::kCdiAnnotations},
    Word<DeviceListStrategy>{"envvar", DeviceListStrategy::kEnvvar},
    Word<DeviceListStrategy>{"volume-mounts", DeviceListStrategy::kVolumeMounts},
    Word<DeviceListStrategy>{"device-specs", DeviceListStrategy::kDeviceSpecs},
    Word<DeviceListStrategy>{"mounts", DeviceListStrategy::kMounts},
};

inline constexpr std::array kDeviceIdWords = {
    Word<DeviceIdStrategy>{"uuid", DeviceIdStrategy::kUuid},
    Word<DeviceIdStrategy>{"index", DeviceIdStrategy::kIndex},
};

inline constexpr std::array kSharedPolicyWords = {
    Word<SharedPolicy>{"distributed", SharedPolicy::kDistributed},
    Word<SharedPolicy>{"packed", SharedPolicy::kPacked},
};

inline constexpr std::array kRegistrationWords = {
    Word<Registration>{"kubelet-socket", Registration::kKubeletSocket},
    Word<Registration>{"plugin-watcher", Registration::kPluginWatcher},
};

inline constexpr std::array kLabelOutputWords = {
    Word<LabelOutput>{"node", LabelOutput::kNode},
    Word<LabelOutput>{"nodeFeature", LabelOutput::kNodeFeature},
    Word<LabelOutput>{"file", LabelOutput::kFile},
};

inline constexpr std::array kNameSetWords = {
    Word<NameSet>{"kgpu", NameSet::kKgpu},
    Word<NameSet>{"dcgm", NameSet::kDcgm},
    Word<NameSet>{"gke", NameSet::kGke},
};

inline constexpr std::array kDcgmLabelWords = {
    Word<DcgmLabel>{"hostname", DcgmLabel::kHostname},
    Word<DcgmLabel>{"pod_uid", DcgmLabel::kPodUid},
};

inline constexpr std::array kTokenByWords = {
    Word<TokenBy>{"nobody", TokenBy::kNobody},
    Word<TokenBy>{"cluster", TokenBy::kCluster},
    Word<TokenBy>{"file", TokenBy::kFile},
};

}  // namespace kgpu::config
