#include "src/container/oci/spec.h"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

#include "src/container/oci/splice.h"
#include "src/container/oci/tree.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::oci {
namespace {

namespace json = boost::json;

std::string_view View(json::string_view text) {
  return {text.data(), text.size()};
}

template <typename View, typename Claim>
std::vector<bool> Marked(const std::vector<View>& views, const Claim& is_unwanted) {
  std::vector<bool> marks;
  for (const View& view : views) {
    marks.push_back(is_unwanted(view));
  }
  return marks;
}

// Removes the marked entries; keeps the order of the others.
size_t RemoveEntries(json::array& list, const std::vector<bool>& unwanted) {
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (unwanted[i]) {
      continue;
    }
    if (kept != i) {
      list[kept] = std::move(list[i]);
    }
    ++kept;
  }
  const size_t removed = list.size() - kept;
  while (list.size() > kept) {
    list.pop_back();
  }
  return removed;
}

StatusOr<std::vector<MountView>> MountsOf(const Tree& tree) {
  ASSIGN_OR_RETURN(const json::array* list, tree.FindList(Field::kMounts));
  std::vector<MountView> views;
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    MountView& view = views.emplace_back();
    view.index = i;
    ASSIGN_OR_RETURN(view.destination, tree.TextOfEntry(*list, i, "destination", "mounts"));
    ASSIGN_OR_RETURN(view.source, tree.TextOfEntry(*list, i, "source", "mounts"));
  }
  return views;
}

StatusOr<std::vector<std::string_view>> PathsOfHooks(const Tree& tree, Field stage) {
  ASSIGN_OR_RETURN(const json::array* list, tree.FindList(stage));
  std::vector<std::string_view> paths;
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    ASSIGN_OR_RETURN(paths.emplace_back(), tree.TextOfEntry(*list, i, "path", NameOf(stage)));
  }
  return paths;
}

}  // namespace

Spec::Spec(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {
}
Spec::Spec(Spec&&) noexcept = default;
Spec& Spec::operator=(Spec&&) noexcept = default;
Spec::~Spec() = default;

StatusOr<Spec> Spec::Parse(std::string text, std::string file) {
  ASSIGN_OR_RETURN(std::unique_ptr<Tree> tree, Tree::Parse(std::move(text), std::move(file)));
  return Spec(std::move(tree));
}

StatusOr<std::vector<std::string_view>> Spec::Env() const {
  ASSIGN_OR_RETURN(const json::array* list, tree_->FindList(Field::kEnv));
  std::vector<std::string_view> env;
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const json::string* variable = (*list)[i].if_string();
    if (variable == nullptr) {
      return tree_->TypeError(fmt::format("process.env[{}]", i), "a string");
    }
    env.push_back(View(*variable));
  }
  return env;
}

StatusOr<std::vector<MountView>> Spec::Mounts() const {
  return MountsOf(*tree_);
}

StatusOr<std::vector<AnnotationView>> Spec::Annotations() const {
  constexpr std::array<std::string_view, 1> kPath = {"annotations"};
  ASSIGN_OR_RETURN(const json::value* value, tree_->Find(kPath));
  std::vector<AnnotationView> views;
  if (value == nullptr) {
    return views;
  }
  const json::object* map = value->if_object();
  if (map == nullptr) {
    return tree_->TypeError("annotations", "a map of strings");
  }
  for (const auto& field : *map) {
    AnnotationView& view = views.emplace_back();
    view.key = View(field.key());
    ASSIGN_OR_RETURN(view.value, tree_->Text(*map, view.key, "annotations"));
  }
  return views;
}

StatusOr<std::vector<std::string_view>> Spec::HookPaths() const {
  std::vector<std::string_view> all;
  for (const Field stage : kHookFields) {
    ASSIGN_OR_RETURN(const std::vector<std::string_view> paths, PathsOfHooks(*tree_, stage));
    all.insert(all.end(), paths.begin(), paths.end());
  }
  return all;
}

StatusOr<bool> Spec::HasUserNamespace() const {
  constexpr std::array<std::string_view, 2> kPath = {"linux", "namespaces"};
  ASSIGN_OR_RETURN(const json::value* value, tree_->Find(kPath));
  if (value == nullptr) {
    return false;
  }
  const json::array* list = value->if_array();
  if (list == nullptr) {
    return tree_->TypeError("linux.namespaces", "a list");
  }
  for (size_t i = 0; i < list->size(); ++i) {
    ASSIGN_OR_RETURN(const std::string_view type,
                     tree_->TextOfEntry(*list, i, "type", "linux.namespaces"));
    if (type == "user") {
      return true;
    }
  }
  return false;
}

Status Spec::SetEnv(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  ASSIGN_OR_RETURN(const std::vector<std::string_view> env, Env());
  ASSIGN_OR_RETURN(json::array * list, tree_->EditList(Field::kEnv));
  const json::string_view text(variable.data(), variable.size());
  for (size_t i = env.size(); i > 0; --i) {
    if (env[i - 1].substr(0, env[i - 1].find('=')) == name) {
      (*list)[i - 1] = text;
      return OkStatus();
    }
  }
  list->emplace_back(text);
  return OkStatus();
}

StatusOr<size_t> Spec::RemoveMounts(const std::function<bool(const MountView&)>& is_unwanted) {
  ASSIGN_OR_RETURN(const std::vector<MountView> views, Mounts());
  if (std::ranges::none_of(views, is_unwanted)) {
    return size_t{0};
  }
  ASSIGN_OR_RETURN(json::array * list, tree_->EditList(Field::kMounts));
  return RemoveEntries(*list, Marked(views, is_unwanted));
}

StatusOr<size_t> Spec::RemoveHooks(const std::function<bool(std::string_view)>& is_unwanted) {
  size_t removed = 0;
  for (const Field stage : kHookFields) {
    ASSIGN_OR_RETURN(const std::vector<std::string_view> paths, PathsOfHooks(*tree_, stage));
    if (std::ranges::none_of(paths, is_unwanted)) {
      continue;
    }
    ASSIGN_OR_RETURN(json::array * list, tree_->EditList(stage));
    removed += RemoveEntries(*list, Marked(paths, is_unwanted));
  }
  return removed;
}

StatusOr<std::string> Spec::Print() const {
  std::vector<Change> changes;
  for (size_t i = 0; i < kFieldCount; ++i) {
    if (const Field field = static_cast<Field>(i); tree_->IsChanged(field)) {
      changes.push_back({PathOf(field), json::serialize(tree_->Get(field))});
    }
  }
  StatusOr<std::string> text = Splice(tree_->text(), changes);
  if (!text.ok()) {
    return Annotate(text.status(), "{}", tree_->file());
  }
  return text;
}

std::optional<std::string_view> FindEnv(const std::vector<std::string_view>& env,
                                        std::string_view name) {
  std::optional<std::string_view> found;
  for (const std::string_view variable : env) {
    const size_t equals = variable.find('=');
    if (equals != std::string_view::npos && variable.substr(0, equals) == name) {
      found = variable.substr(equals + 1);
    }
  }
  return found;
}

}  // namespace kgpu::oci
