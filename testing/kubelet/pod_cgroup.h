// Where the containers of pods are among the cgroups, as a kubelet with the cgroupfs driver and
// containerd name them.
#pragma once

#include <string>
#include <string_view>

namespace kgpu::kubelet {

// What a container runtime would call the container: 64 hexadecimal digits, the same for the same
// `id` of ours.
std::string RuntimeId(std::string_view id);

// "/kgpu-stub/kubepods/besteffort/pod<uid>/<RuntimeId>".
std::string CgroupOf(std::string_view pod_uid, std::string_view id);

// The pod's own cgroup goes once its last container has: runc only removes those of containers.
void RemovePodCgroup(std::string_view pod_uid);

}  // namespace kgpu::kubelet
