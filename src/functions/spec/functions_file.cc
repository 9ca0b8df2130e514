#include "src/functions/spec/functions_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "src/functions/runtimes/runtimes.h"
#include "src/functions/spec/checks.h"
#include "src/functions/spec/function_check.h"
#include "src/functions/spec/functions_reader.h"
#include "src/functions/spec/readers.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/located.h"

namespace kgpu::functions {
namespace {

using config::Node;
using config::Problems;

constexpr std::array<std::string_view, 2> kFileKeys = {"functions", "openfx"};
constexpr std::array<std::string_view, 1> kOpenfxKeys = {"gateway"};
constexpr std::array<std::string_view, 3> kHandlerKeys = {"dir", "file", "name"};
constexpr ResourceKeys kResourceKeys = {"memory", "cpu", "gpu"};

// A function whose fields are still being read.
struct Draft {
  Problems& problems;
  Function function{};
  GivenGpus limit{};
  GivenGpus request{};
  GivenReplicas replicas{};
};

void ReadHandler(const Node& node, Draft& draft) {
  Handler& handler = draft.function.handler;
  node.ForEachField(kHandlerKeys, [&handler](std::string_view name, const Node& field) {
    if (name == "dir") {
      ReadText(field, &CheckHandlerDir, handler.dir);
    } else if (name == "file") {
      ReadText(field, &CheckHandlerFile, handler.file);
    } else {
      ReadText(field, &CheckHandlerName, handler.name);
    }
  });
}

// OpenFx's list of "NAME=value".
void ReadBuildArgs(const Node& node, Draft& draft) {
  node.ForEachItem([&draft](const Node& item) {
    const auto text = item.String();
    const size_t equals = text ? text->find('=') : 0;
    if (!text) {
      return;
    }
    if (equals == std::string::npos || !CheckBuildArgName(text->substr(0, equals)).ok()) {
      item.Error("{} must be NAME=value", item.Shown());
      return;
    }
    if (!draft.function.build_args.emplace(text->substr(0, equals), text->substr(equals + 1))
             .second) {
      item.Error("{} is a duplicate: remove one", item.Shown());
    }
  });
}

struct FileField {
  std::string_view name;
  void (*read)(const Node& node, Draft& draft);
};

// OpenFx's fields, and those of ours that stay behind when a function is deployed or have another
// form then. OwnFields() has the others.
constexpr std::array<FileField, 19> kFileFields = {{
    {"runtime", [](const Node& node, Draft& draft) { ReadRuntime(node, draft.function.runtime); }},
    {"desc", [](const Node& node,
                Draft& draft) { ReadText(node, &CheckText, draft.function.description); }},
    {"maintainer",
     [](const Node& node, Draft& draft) { ReadText(node, &CheckText, draft.function.maintainer); }},
    {"handler", &ReadHandler},
    {"docker_registry",
     [](const Node& node, Draft& draft) {
       ReadText(node, &CheckRegistry, draft.function.docker_registry);
     }},
    {"image",
     [](const Node& node, Draft& draft) { ReadText(node, &CheckImage, draft.function.image); }},
    {"baseImage", [](const Node& node,
                     Draft& draft) { ReadText(node, &CheckImage, draft.function.base_image); }},
    {"environment",
     [](const Node& node, Draft& draft) {
       ReadTextMap(node, &CheckVariableName, &CheckText, draft.function.environment);
     }},
    {"environment_file",
     [](const Node& node, Draft& draft) {
       ReadTexts(node, &CheckPath, draft.function.environment_files);
     }},
    {"secrets", [](const Node& node,
                   Draft& draft) { ReadTexts(node, &CheckSecretName, draft.function.secrets); }},
    {"constraints",
     [](const Node& node, Draft& draft) {
       ReadTexts(node, &CheckConstraint, draft.function.constraints);
     }},
    {"registry_auth",
     [](const Node& node, Draft& draft) {
       ReadText(node, &CheckRegistryAuth, draft.function.registry_auth);
     }},
    {"labels",
     [](const Node& node, Draft& draft) {
       ReadTextMap(node, &CheckLabelKey, &CheckLabelValue, draft.function.labels);
     }},
    {"annotations",
     [](const Node& node, Draft& draft) {
       ReadTextMap(node, &CheckLabelKey, &CheckText, draft.function.annotations);
     }},
    {"limits",
     [](const Node& node, Draft& draft) {
       GivenResources given = ReadResources(node, kResourceKeys);
       draft.function.limits = given.amounts;
       draft.limit = std::move(given.gpus);
     }},
    {"requests",
     [](const Node& node, Draft& draft) {
       GivenResources given = ReadResources(node, kResourceKeys);
       draft.function.requests = given.amounts;
       draft.request = std::move(given.gpus);
     }},
    {"build_options",
     [](const Node& node, Draft& draft) {
       ReadTexts(node, &CheckPackage, draft.function.build_options);
     }},
    {"build_args", &ReadBuildArgs},
    {"replicas", [](const Node& node, Draft& draft) { draft.replicas = ReadReplicas(node); }},
}};

std::vector<std::string_view> FunctionKeys() {
  std::vector<std::string_view> keys;
  for (const FileField& field : kFileFields) {
    keys.push_back(field.name);
  }
  for (const OwnField& field : OwnFields()) {
    keys.push_back(field.name);
  }
  return keys;
}

void ReadFunctionField(std::string_view name, const Node& field, Draft& draft) {
  const auto* const found = std::ranges::find(kFileFields, name, &FileField::name);
  if (found != kFileFields.end()) {
    found->read(field, draft);
    return;
  }
  const auto own = std::ranges::find(OwnFields(), name, &OwnField::name);
  own->read(field, draft.problems, draft.function);
}

Function ReadFunction(std::string_view name, const Node& node, Problems& problems) {
  Draft draft{.problems = problems};
  if (const Status status = CheckFunctionName(name); !status.ok()) {
    node.KeyError("{}", Message(status));
  }
  draft.function.name = std::string(name);
  node.ForEachField(FunctionKeys(), [&draft](std::string_view key, const Node& field) {
    ReadFunctionField(key, field, draft);
  });
  const GivenGpus gpus = MergeGpus(std::move(draft.limit), draft.request, "limits.gpu", problems);
  draft.function.gpu = gpus.request.value_or(GpuRequest{});
  ApplyReplicas(draft.replicas, draft.function.scaling);
  const Runtime* runtime = FindRuntime(draft.function.runtime);
  if (draft.function.handler.file.empty() && runtime != nullptr) {
    draft.function.handler.file = std::string(runtime->handler_file);
  }
  for (const std::string& conflict : ConflictsIn(draft.function)) {
    node.KeyError("{}", conflict);
  }
  return std::move(draft.function);
}

}  // namespace

FunctionsFile ReadFunctionsFile(const Node& root, Problems& problems) {
  FunctionsFile file;
  bool has_functions = false;
  root.ForEachField(kFileKeys, [&](std::string_view name, const Node& field) {
    if (name == "openfx") {
      field.ForEachField(kOpenfxKeys, [&file](std::string_view, const Node& item) {
        ReadText(item, &CheckGateway, file.gateway);
      });
      return;
    }
    has_functions = true;
    if (field.size() > kMaxFunctions) {
      field.Error("{} functions exceed the limit of {}", field.size(), kMaxFunctions);
      return;
    }
    field.ForAnyField([&](std::string_view function, const Node& item) {
      file.functions.push_back(ReadFunction(function, item, problems));
    });
  });
  if (!has_functions && root.is_map()) {
    root.Error("functions: missing: add a map of functions by name");
  }
  std::ranges::sort(file.functions, {}, &Function::name);
  return file;
}

StatusOr<FunctionsFile> ParseFunctionsFile(std::string_view text, std::string_view file) {
  const doc::Format format = file.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml;
  ASSIGN_OR_RETURN(const doc::Located document,
                   doc::ParseLocated(text, format, file, kDocumentLimits));
  Problems problems(file);
  FunctionsFile functions = ReadFunctionsFile(Node(document, problems), problems);
  RETURN_IF_ERROR(problems.ToStatus());
  return functions;
}

const Function* FindFunction(const FunctionsFile& file, std::string_view name) {
  const auto found = std::ranges::find(file.functions, name, &Function::name);
  return found == file.functions.end() ? nullptr : &*found;
}

StatusOr<Function> SelectFunction(const FunctionsFile& file, std::string_view name) {
  std::vector<std::string> names;
  for (const Function& function : file.functions) {
    names.push_back(function.name);
  }
  if (const Function* found = FindFunction(file, name); found != nullptr) {
    return *found;
  }
  if (names.empty()) {
    return NotFound("the file has no functions");
  }
  if (!name.empty()) {
    return NotFound("no function \"{}\" in the file: it has {}", Printable(name, 80),
                    Join(names, ", "));
  }
  if (names.size() > 1) {
    return InvalidArgument("the file has several functions: name one of {}", Join(names, ", "));
  }
  return file.functions.front();
}

}  // namespace kgpu::functions
