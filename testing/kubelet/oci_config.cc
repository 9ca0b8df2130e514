#include "testing/kubelet/oci_config.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

template <typename T>
json::array OciListJson(const T& items) {
  json::array array;
  for (const auto& item : items) {
    array.emplace_back(item);
  }
  return array;
}

// A list of "NAME=value" in which a name stands once, with its last value.
class Environment {
 public:
  void Add(const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    const auto old = std::ranges::find_if(
        entries_, [&](const std::string& known) { return known.starts_with(name); });
    if (old == entries_.end()) {
      entries_.push_back(entry);
    } else {
      *old = entry;
    }
  }
  json::array ToJson() const { return OciListJson(entries_); }

 private:
  std::vector<std::string> entries_;
};

json::value MountJson(const cdi::Mount& mount) {
  std::vector<std::string> options = mount.options;
  const bool is_bind = mount.type.empty() || mount.type == "bind";
  if (is_bind && std::ranges::none_of(options, [](const std::string& option) {
        return option == "bind" || option == "rbind";
      })) {
    options.emplace_back("rbind");
  }
  return json::object{{"destination", mount.container_path},
                      {"type", is_bind ? "bind" : mount.type},
                      {"source", mount.host_path},
                      {"options", OciListJson(options)}};
}

// The mounts that every container has.
json::array BaseMounts() {
  return {
      json::object{{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}},
      json::object{{"destination", "/dev"},
                   {"type", "tmpfs"},
                   {"source", "tmpfs"},
                   {"options", {"nosuid", "strictatime", "mode=755", "size=65536k"}}},
      json::object{{"destination", "/dev/pts"},
                   {"type", "devpts"},
                   {"source", "devpts"},
                   {"options", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}}},
      json::object{{"destination", "/dev/shm"},
                   {"type", "tmpfs"},
                   {"source", "shm"},
                   {"options", {"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}}},
      json::object{{"destination", "/sys"},
                   {"type", "bind"},
                   {"source", "/sys"},
                   {"options", {"rbind", "nosuid", "noexec", "nodev", "ro"}}}};
}

// Builds the parts that edits add to.
class Builder {
 public:
  explicit Builder(const sys::Root& host) : host_(host) {}

  Status Apply(const cdi::ContainerEdits& edits) {
    for (const std::string& entry : edits.env) {
      env.Add(entry);
    }
    for (const cdi::DeviceNode& node : edits.device_nodes) {
      RETURN_IF_ERROR(AddDevice(node));
    }
    mounts_.insert(mounts_.end(), edits.mounts.begin(), edits.mounts.end());
    for (const cdi::Hook& hook : edits.hooks) {
      AddHook(hook);
    }
    for (const uint32_t gid : edits.additional_gids) {
      gids.emplace_back(gid);
    }
    return OkStatus();
  }

  // A folder is mounted before what lies in it.
  json::array Mounts() const {
    std::vector<cdi::Mount> sorted = mounts_;
    std::ranges::stable_sort(sorted, {}, [](const cdi::Mount& mount) {
      return std::ranges::count(mount.container_path, '/');
    });
    json::array array = BaseMounts();
    for (const cdi::Mount& mount : sorted) {
      array.push_back(MountJson(mount));
    }
    return array;
  }

  Environment env;
  json::array devices;
  json::array rules = {json::object{{"allow", false}, {"access", "rwm"}}};
  json::object hooks;
  json::array gids;

 private:
  Status AddDevice(const cdi::DeviceNode& node) {
    const std::string& path = node.host_path.empty() ? node.path : node.host_path;
    const StatusOr<struct stat> file = host_.Stat(path);
    if (!file.ok()) {
      return FailedPrecondition("device {}: {}", node.path, Message(file.status()));
    }
    if (!S_ISCHR(file->st_mode) && !S_ISBLK(file->st_mode)) {
      return FailedPrecondition("device {}: {} is not a device node", node.path, host_.At(path));
    }
    const char* type = S_ISCHR(file->st_mode) ? "c" : "b";
    const int64_t major = node.major.value_or(major(file->st_rdev));
    const int64_t minor = node.minor.value_or(minor(file->st_rdev));
    constexpr mode_t kPermissions = 0777;
    devices.push_back(
        json::object{{"path", node.path},
                     {"type", type},
                     {"major", major},
                     {"minor", minor},
                     {"fileMode", node.file_mode.value_or(file->st_mode & kPermissions)},
                     {"uid", node.uid.value_or(file->st_uid)},
                     {"gid", node.gid.value_or(file->st_gid)}});
    rules.push_back(json::object{{"allow", true},
                                 {"type", type},
                                 {"major", major},
                                 {"minor", minor},
                                 {"access", node.permissions.empty() ? "rwm" : node.permissions}});
    return OkStatus();
  }

  void AddHook(const cdi::Hook& hook) {
    json::object object = {
        {"path", hook.path}, {"args", OciListJson(hook.args)}, {"env", OciListJson(hook.env)}};
    if (hook.timeout_seconds) {
      object["timeout"] = *hook.timeout_seconds;
    }
    json::value& list = hooks[hook.hook_name];
    if (!list.is_array()) {
      list = json::array();
    }
    list.get_array().push_back(std::move(object));
  }

  const sys::Root& host_;
  std::vector<cdi::Mount> mounts_;
};

// The plugins' replies in CDI's words.
cdi::ContainerEdits EditsOf(const ContainerOptions& options) {
  cdi::ContainerEdits edits;
  for (const auto& [name, value] : options.envs) {
    edits.env.push_back(fmt::format("{}={}", name, value));
  }
  for (const DeviceSpec& device : options.devices) {
    cdi::DeviceNode& node = edits.device_nodes.emplace_back();
    node.path = device.container_path;
    node.host_path = device.host_path;
    node.permissions = device.permissions;
  }
  for (const BindMount& mount : options.mounts) {
    edits.mounts.push_back({.host_path = mount.host_path,
                            .container_path = mount.container_path,
                            .options = {"rbind", "rprivate", mount.read_only ? "ro" : "rw"},
                            .type = ""});
  }
  return edits;
}

// The capabilities that the kubelet's engines give an unprivileged container.
json::object CapabilitiesJson() {
  const json::array names = {
      "CAP_CHOWN",      "CAP_DAC_OVERRIDE", "CAP_FSETID",           "CAP_FOWNER",     "CAP_MKNOD",
      "CAP_NET_RAW",    "CAP_SETGID",       "CAP_SETUID",           "CAP_SETFCAP",    "CAP_SETPCAP",
      "CAP_SYS_CHROOT", "CAP_KILL",         "CAP_NET_BIND_SERVICE", "CAP_AUDIT_WRITE"};
  return {{"bounding", names}, {"effective", names}, {"permitted", names}};
}

json::array NamespacesJson() {
  json::array array;
  // The host's network: what runs on a simulated node may be talked to.
  for (const char* type : {"pid", "ipc", "uts", "mount"}) {
    array.push_back(json::object{{"type", type}});
  }
  return array;
}

}  // namespace

StatusOr<std::string> OciConfigText(const OciRequest& request, const sys::Root& host) {
  Builder builder(host);
  builder.env.Add(kPath);
  builder.env.Add(fmt::format("HOSTNAME={}", request.hostname));
  RETURN_IF_ERROR(builder.Apply(EditsOf(request.options)));
  for (const std::string& entry : request.env) {
    builder.env.Add(entry);
  }
  for (const cdi::ContainerEdits& edits : request.cdi_edits) {
    RETURN_IF_ERROR(builder.Apply(edits));
  }
  json::object annotations;
  for (const auto& [key, value] : request.options.annotations) {
    annotations.emplace(key, value);
  }
  const json::object config = {
      {"ociVersion", "1.0.2"},
      {"process",
       json::object{
           {"terminal", false},
           {"user", json::object{{"uid", 0}, {"gid", 0}, {"additionalGids", builder.gids}}},
           {"args", OciListJson(request.args)},
           {"env", builder.env.ToJson()},
           {"cwd", "/"},
           {"capabilities", CapabilitiesJson()},
           {"noNewPrivileges", false}}},
      {"root", json::object{{"path", "rootfs"}, {"readonly", false}}},
      {"hostname", request.hostname},
      {"annotations", std::move(annotations)},
      {"mounts", builder.Mounts()},
      {"hooks", builder.hooks},
      {"linux", json::object{{"cgroupsPath", request.cgroup},
                             {"namespaces", NamespacesJson()},
                             {"devices", builder.devices},
                             {"resources", json::object{{"devices", builder.rules}}}}}};
  return doc::Print(config, doc::Format::kJson);
}

}  // namespace kgpu::kubelet
