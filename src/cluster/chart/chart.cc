#include "src/cluster/chart/chart.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/cluster/chart/chart_files.h"
#include "src/cluster/chart/template.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;

gotemplate::Value FilesForTemplates() {
  gotemplate::Value::Dict files;
  for (const EmbeddedFile& file : ChartFiles()) {
    files.emplace(file.path, gotemplate::Value(file.text));
  }
  return gotemplate::Value(std::move(files));
}

bool HasController(const Values& values) {
  const json::value* controller = values.tree.if_contains("controller");
  return controller != nullptr && controller->as_object().at("enabled").as_bool();
}

Status Append(StatusOr<std::vector<Manifest>> some, std::vector<Manifest>& all) {
  RETURN_IF_ERROR(some.status());
  all.insert(all.end(), std::make_move_iterator(some->begin()),
             std::make_move_iterator(some->end()));
  return OkStatus();
}

// "daemonset-kgpu-agent.yaml"; with the namespace before the name where that is taken.
std::string FileNameOf(const Manifest& manifest, const std::vector<OutputFile>& files) {
  const std::string kind = ToLower(KindOf(manifest));
  std::string name = fmt::format("{}-{}.yaml", kind, NameOf(manifest));
  if (std::ranges::find(files, name, &OutputFile::path) == files.end()) {
    return name;
  }
  return fmt::format("{}-{}-{}.yaml", kind, SpaceOf(manifest), NameOf(manifest));
}

// helm installs definitions as they are, without templates: the label that says who manages an
// object is added here.
StatusOr<std::string> WithManager(const EmbeddedFile& file) {
  constexpr std::string_view kPartOf = "    app.kubernetes.io/part-of: kgpu\n";
  std::string text(file.text);
  const size_t at = text.find(kPartOf);
  if (at == std::string::npos) {
    return Internal("{}: has no label app.kubernetes.io/part-of", file.path);
  }
  text.insert(at + kPartOf.size(), fmt::format("    app.kubernetes.io/managed-by: {}\n", kManager));
  return text;
}

}  // namespace

StatusOr<std::vector<Manifest>> Render(const Values& values) {
  const json::object release = {
      {"Name", "kgpu"}, {"Namespace", values.name_space}, {"Service", doc::View(kManager)}};
  const gotemplate::Value data(gotemplate::Value::Dict{{"Values", TemplateValue(values.tree)},
                                                       {"Release", TemplateValue(release)},
                                                       {"Files", FilesForTemplates()}});
  std::vector<Manifest> manifests;
  for (const EmbeddedFile& file : ChartFiles()) {
    if (file.path.starts_with("crds/") && HasController(values)) {
      ASSIGN_OR_RETURN(const std::string text, WithManager(file));
      RETURN_IF_ERROR(Append(SplitManifests(text, file.path), manifests));
    } else if (file.path.starts_with("templates/")) {
      ASSIGN_OR_RETURN(const std::string text, RenderTemplate(file.text, file.path, data));
      RETURN_IF_ERROR(Append(SplitManifests(text, file.path), manifests));
    }
  }
  SortForApply(manifests);
  return manifests;
}

std::vector<OutputFile> ChartFolder() {
  std::vector<OutputFile> files;
  for (const EmbeddedFile& file : ChartFiles()) {
    files.push_back({.path = std::string(file.path), .text = std::string(file.text)});
  }
  return files;
}

std::vector<OutputFile> KustomizeFolder(const std::vector<Manifest>& manifests) {
  std::vector<OutputFile> files;
  json::array names;
  for (const Manifest& manifest : manifests) {
    files.push_back({.path = FileNameOf(manifest, files), .text = manifest.text});
    names.push_back(json::value(doc::View(files.back().path)));
  }
  const json::object kustomization = {{"apiVersion", "kustomize.config.k8s.io/v1beta1"},
                                      {"kind", "Kustomization"},
                                      {"resources", std::move(names)}};
  files.push_back(
      {.path = "kustomization.yaml",
       .text = "# A base: kubectl apply -k, or a resource of a kustomization of your own.\n" +
               doc::Print(kustomization, doc::Format::kYaml)});
  return files;
}

}  // namespace kgpu::chart
