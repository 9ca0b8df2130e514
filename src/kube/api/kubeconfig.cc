#include "src/kube/api/kubeconfig.h"

#include <boost/json/value.hpp>

#include <functional>

#include "src/platform/base/base64.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

constexpr doc::Limits kLimits{.bytes = size_t{2} << 20, .depth = 32, .values = 100'000};

// The fields of one map. Remembers the first thing that is wrong and where it stands.
class Fields {
 public:
  Fields(const json::value* map, std::string where, Status& status)
      : map_(map == nullptr ? nullptr : map->if_object()),
        where_(std::move(where)),
        status_(status) {
    if (map != nullptr && !map->is_null() && map_ == nullptr) {
      Fail("must be a map");
    }
  }

  // A null value counts as missing.
  const json::value* Find(std::string_view key) const {
    const json::value* value =
        map_ == nullptr ? nullptr : map_->if_contains({key.data(), key.size()});
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  Fields Map(std::string_view key) const { return {Find(key), At(key), status_}; }

  std::string Text(std::string_view key) const {
    const json::value* value = Find(key);
    if (value == nullptr) {
      return "";
    }
    return TextOf(*value, At(key));
  }
  bool Flag(std::string_view key) const {
    const json::value* value = Find(key);
    if (value != nullptr && !value->is_bool()) {
      Fail("must be true or false", At(key));
    }
    return value != nullptr && value->is_bool() && value->get_bool();
  }
  std::string Base64(std::string_view key) const {
    StatusOr<std::string> bytes = DecodeBase64(Text(key));
    if (!bytes.ok()) {
      Fail(Message(bytes.status()), At(key));
      return "";
    }
    return *std::move(bytes);
  }
  std::vector<std::string> Texts(std::string_view key) const {
    std::vector<std::string> texts;
    EachItem(key, [&](const json::value& item, const std::string& where) {
      texts.push_back(TextOf(item, where));
    });
    return texts;
  }
  void EachItem(std::string_view key,
                const std::function<void(const json::value&, const std::string&)>& visit) const {
    const json::value* list = Find(key);
    if (list == nullptr) {
      return;
    }
    if (!list->is_array()) {
      return Fail("must be a list", At(key));
    }
    for (size_t i = 0; i < list->get_array().size(); ++i) {
      visit(list->get_array()[i], fmt::format("{}[{}]", At(key), i));
    }
  }
  const json::object* map() const { return map_; }

  void Fail(std::string_view what) const { Fail(what, where_); }

 private:
  std::string At(std::string_view key) const {
    return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
  }
  std::string TextOf(const json::value& value, const std::string& where) const {
    if (const json::string* text = value.if_string()) {
      return {text->data(), text->size()};
    }
    Fail("must be a string: put it in quotes", where);
    return "";
  }
  void Fail(std::string_view what, const std::string& where) const {
    if (status_.ok()) {
      status_ = InvalidArgument("{}: {}", where, what);
    }
  }

  const json::object* map_;
  std::string where_;
  Status& status_;
};

class Reader {
 public:
  explicit Reader(std::string_view folder) : folder_(folder) {}

  StatusOr<Kubeconfig> Read(const json::value& root) {
    const Fields top(&root, "", status_);
    if (const std::string kind = top.Text("kind"); !kind.empty() && kind != "Config") {
      return InvalidArgument("kind: must be Config, not {}", Printable(kind, 64));
    }
    Kubeconfig config;
    config.current_context = top.Text("current-context");
    EachNamed(top, "clusters", "cluster", [&](const std::string& name, const Fields& fields) {
      config.clusters.emplace(name, Cluster(fields));
    });
    EachNamed(top, "users", "user", [&](const std::string& name, const Fields& fields) {
      config.users.emplace(name, User(fields));
    });
    EachNamed(top, "contexts", "context", [&](const std::string& name, const Fields& fields) {
      config.contexts.emplace(name, ContextSpec{.cluster = fields.Text("cluster"),
                                                .user = fields.Text("user"),
                                                .space = fields.Text("namespace")});
    });
    RETURN_IF_ERROR(status_);
    return config;
  }

 private:
  void EachNamed(const Fields& top, std::string_view list, std::string_view key,
                 const std::function<void(const std::string&, const Fields&)>& visit) {
    top.EachItem(list, [&](const json::value& item, const std::string& where) {
      const Fields entry(&item, where, status_);
      const std::string name = entry.Text("name");
      if (name.empty()) {
        return entry.Fail("has no name");
      }
      visit(name, entry.Map(key));
    });
  }

  ClusterSpec Cluster(const Fields& fields) const {
    return {.server = fields.Text("server"),
            .ca_file = PathIn(fields.Text("certificate-authority")),
            .ca_pem = fields.Base64("certificate-authority-data"),
            .tls_server_name = fields.Text("tls-server-name"),
            .proxy_url = fields.Text("proxy-url"),
            .is_insecure = fields.Flag("insecure-skip-tls-verify")};
  }

  UserSpec User(const Fields& fields) {
    UserSpec user{.certificate_file = PathIn(fields.Text("client-certificate")),
                  .certificate_pem = fields.Base64("client-certificate-data"),
                  .key_file = PathIn(fields.Text("client-key")),
                  .key_pem = fields.Base64("client-key-data"),
                  .token = fields.Text("token"),
                  .username = fields.Text("username"),
                  .password = fields.Text("password"),
                  .token_file = PathIn(fields.Text("tokenFile")),
                  .auth_provider = fields.Map("auth-provider").Text("name"),
                  .as_user = fields.Text("as"),
                  .as_uid = fields.Text("as-uid"),
                  .as_groups = fields.Texts("as-groups")};
    const Fields extra = fields.Map("as-user-extra");
    if (extra.map() != nullptr) {
      for (const auto& field : *extra.map()) {
        const std::string key(field.key().data(), field.key().size());
        user.as_extra[key] = extra.Texts(key);
      }
    }
    if (fields.Find("exec") != nullptr) {
      user.exec = Exec(fields.Map("exec"));
    }
    return user;
  }

  ExecSpec Exec(const Fields& fields) {
    constexpr std::string_view kGroup = "client.authentication.k8s.io/";
    ExecSpec exec{.api_version = fields.Text("apiVersion"),
                  .command = fields.Text("command"),
                  .args = fields.Texts("args"),
                  .wants_cluster = fields.Flag("provideClusterInfo"),
                  .install_hint = fields.Text("installHint")};
    if (exec.api_version != fmt::format("{}v1", kGroup) &&
        exec.api_version != fmt::format("{}v1beta1", kGroup)) {
      fields.Fail("its apiVersion must be client.authentication.k8s.io/v1 or v1beta1");
    }
    if (exec.command.empty()) {
      fields.Fail("has no command");
    } else if (exec.command.find('/') != std::string::npos) {
      exec.command = PathIn(exec.command);
    }
    const std::string mode = fields.Text("interactiveMode");
    if (mode != "Never" && mode != "IfAvailable" && mode != "Always" &&
        !(mode.empty() && exec.api_version.ends_with("beta1"))) {
      fields.Fail("its interactiveMode must be Never, IfAvailable or Always");
    }
    exec.needs_terminal = mode == "Always";
    fields.EachItem("env", [&](const json::value& item, const std::string& where) {
      const Fields entry(&item, where, status_);
      exec.environment.emplace_back(entry.Text("name"), entry.Text("value"));
    });
    return exec;
  }

  std::string PathIn(std::string path) const {
    return path.empty() || path.starts_with('/') ? path : fmt::format("{}/{}", folder_, path);
  }

  std::string folder_;
  Status status_;  // the first thing that is wrong
};

template <typename T>
Status NoSuch(std::string_view what, std::string_view name, const std::map<std::string, T>& known) {
  std::vector<std::string> names;
  for (const auto& [key, value] : known) {
    names.push_back(Printable(key, 80));
  }
  return NotFound("no {} \"{}\"; there {}: {}", what, Printable(name, 80),
                  names.size() == 1 ? "is" : "are", names.empty() ? "none" : Join(names, ", "));
}

}  // namespace

StatusOr<Kubeconfig> ParseKubeconfig(std::string_view text, std::string_view file,
                                     std::string_view folder) {
  // A file that was just made, as kubectl does.
  if (Trim(text).empty()) {
    return Kubeconfig{};
  }
  const doc::Format format = Trim(text).starts_with('{') ? doc::Format::kJson : doc::Format::kYaml;
  ASSIGN_OR_RETURN(const json::value root, doc::Parse(text, format, file, kLimits));
  StatusOr<Kubeconfig> config = Reader(folder).Read(root);
  if (!config.ok()) {
    return Annotate(config.status(), "{}", file);
  }
  return config;
}

void MergeKubeconfig(Kubeconfig& first, Kubeconfig second) {
  first.clusters.merge(second.clusters);
  first.users.merge(second.users);
  first.contexts.merge(second.contexts);
  if (first.current_context.empty()) {
    first.current_context = std::move(second.current_context);
  }
}

StatusOr<Selected> SelectContext(const Kubeconfig& config, std::string_view context) {
  Selected selected;
  selected.context = context.empty() ? config.current_context : std::string(context);
  if (selected.context.empty()) {
    return NotFound("current-context is not set: choose one of the kubeconfig's contexts");
  }
  const auto found = config.contexts.find(selected.context);
  if (found == config.contexts.end()) {
    return NoSuch("context", selected.context, config.contexts);
  }
  const auto cluster = config.clusters.find(found->second.cluster);
  if (cluster == config.clusters.end()) {
    return Annotate(NoSuch("cluster", found->second.cluster, config.clusters), "context {}",
                    Printable(selected.context, 80));
  }
  if (!found->second.user.empty()) {
    const auto user = config.users.find(found->second.user);
    if (user == config.users.end()) {
      return Annotate(NoSuch("user", found->second.user, config.users), "context {}",
                      Printable(selected.context, 80));
    }
    selected.user = user->second;
  }
  selected.cluster = cluster->second;
  if (!found->second.space.empty()) {
    selected.space = found->second.space;
  }
  if (selected.cluster.is_insecure) {
    return FailedPrecondition(
        "cluster {}: insecure-skip-tls-verify is not allowed because it exposes the credentials: "
        "set certificate-authority or certificate-authority-data",
        Printable(found->second.cluster, 80));
  }
  if (!selected.user.auth_provider.empty()) {
    return Unimplemented("user {}: auth-provider was removed in Kubernetes 1.26: use exec",
                         Printable(found->second.user, 80));
  }
  return selected;
}

}  // namespace kgpu::kube
