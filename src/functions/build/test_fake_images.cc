#include "src/functions/build/test_fake_images.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;

sys::RunResult Succeeds(std::string out = "") {
  return {.exit = {.code = 0, .signal = std::nullopt}, .out = std::move(out), .err = ""};
}

sys::RunResult Fails(std::string err, int code = 125) {
  return {.exit = {.code = code, .signal = std::nullopt}, .out = "", .err = std::move(err)};
}

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Has(const std::vector<std::string>& argv, std::string_view word) {
  return std::ranges::find(argv, word) != argv.end();
}

std::map<std::string, std::string> LabelsIn(const std::string& containerfile) {
  std::map<std::string, std::string> labels;
  for (const std::string_view line : Split(containerfile, '\n')) {
    const size_t equals = line.find('=');
    if (line.starts_with("LABEL ") && equals != std::string_view::npos) {
      labels[std::string(line.substr(6, equals - 6))] =
          line.substr(equals + 2, line.size() - equals - 3);
    }
  }
  return labels;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) {
      files.push_back(entry.path().lexically_relative(folder).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

StatusOr<sys::RunResult> FakeImages::Run(const sys::RunRequest& request) {
  const std::vector<std::string>& argv = request.argv;
  argvs.push_back(argv);
  if (argv[0].ends_with("/apt-get")) {
    return AptGet(request);
  }
  if (argv[0] == "/bin/sh") {
    fs::create_directories(request.root + argv.back());
    return Succeeds();
  }
  if (Has(argv, "build")) {
    return Build(argv);
  }
  if (Has(argv, "inspect")) {
    return Inspect(argv);
  }
  const std::string& last = argv.back();
  const std::string& before = argv[argv.size() - 2];
  if (Has(argv, "tag")) {
    images[last] = images.at(before);
    return Succeeds();
  }
  if (Has(argv, "push")) {
    if (!push_error.empty()) {
      return Fails(push_error);
    }
    registry[last] = images.at(before);
    return Succeeds();
  }
  return Has(argv, "pull") ? Succeeds() : Fails("unknown command");
}

size_t FakeImages::Count(std::string_view program, std::string_view word) const {
  return static_cast<size_t>(std::ranges::count_if(
      argvs, [&](const auto& argv) { return argv[0].ends_with(program) && Has(argv, word); }));
}

sys::RunResult FakeImages::AptGet(const sys::RunRequest& request) {
  const std::vector<std::string>& argv = request.argv;
  if (!apt_error.empty()) {
    return Fails(apt_error, 100);
  }
  constexpr std::string_view kFolder = "Dir::Cache::archives=";
  std::string folder;
  for (const std::string& word : argv) {
    if (word.starts_with(kFolder)) {
      folder = request.root + word.substr(kFolder.size());
    }
  }
  for (auto name = std::next(std::ranges::find(argv, "--")); name != argv.end(); ++name) {
    std::ofstream(fmt::format("{}/{}_{}_amd64.deb", folder, *name, package_version)) << *name;
  }
  return Succeeds();
}

sys::RunResult FakeImages::Build(const std::vector<std::string>& argv) {
  if (!build_error.empty()) {
    return Fails(build_error, 1);
  }
  Image image{.containerfile = FileText(argv.back() + "/Containerfile"),
              .labels = {},
              .files = FilesIn(argv.back())};
  image.labels = LabelsIn(image.containerfile);
  for (size_t i = 0; i + 1 < argv.size(); ++i) {
    if (argv[i] == "--tag") {
      images[argv[i + 1]] = image;
    }
  }
  return Succeeds("3f9c\n");
}

sys::RunResult FakeImages::Inspect(const std::vector<std::string>& argv) const {
  const auto found = images.find(argv.back());
  if (found == images.end()) {
    return Fails(fmt::format("Error: importing settings: {}: image not known", argv.back()));
  }
  const std::string& format = argv[argv.size() - 2];
  const size_t open = format.find('"') + 1;
  const auto label = found->second.labels.find(format.substr(open, format.rfind('"') - open));
  return Succeeds(label == found->second.labels.end() ? "" : label->second);
}

}  // namespace kgpu::functions
