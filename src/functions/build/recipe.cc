#include "src/functions/build/recipe.h"

#include <algorithm>
#include <array>

#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

using Names = std::string_view;

// make, awk and the like are missing on purpose: a compiler, a shell and a few tools are enough.
constexpr std::array<Names, 3> kCppCompiler = {"g++", "dash", "coreutils"};
constexpr std::array<Names, 1> kCppRun = {"libstdc++6"};
constexpr std::array<Names, 4> kGoCompiler = {"golang-go", "dash", "coreutils", "sed"};
constexpr std::array<Names, 1> kPython = {"python3"};
constexpr std::array<Names, 3> kPip = {"python3-pip", "ca-certificates", "dash"};
constexpr std::array<Names, 1> kNode = {"nodejs"};
constexpr std::array<Names, 3> kNpm = {"npm", "ca-certificates", "dash"};
constexpr std::array<Names, 1> kRuby = {"ruby"};
constexpr std::array<Names, 2> kGem = {"ca-certificates", "dash"};
// OpenFx's handlers take a ByteString of protobuf's.
constexpr std::array<Names, 4> kJavaCompiler = {"default-jdk-headless", "libprotobuf-java", "dash",
                                                "coreutils"};
constexpr std::array<Names, 2> kJava = {"default-jre-headless", "libprotobuf-java"};

constexpr std::array<Names, 1> kProgram = {"/opt/kgpu-fn/bin/worker"};
constexpr std::array<Names, 2> kPythonWorker = {"python3", "/opt/kgpu-fn/kgpu_worker.py"};
constexpr std::array<Names, 2> kNodeWorker = {"node", "/opt/kgpu-fn/kgpu_worker.js"};
constexpr std::array<Names, 2> kRubyWorker = {"ruby", "/opt/kgpu-fn/kgpu_worker.rb"};
// The path that Debian's packages have without the alternatives system.
constexpr std::array<Names, 4> kJavaWorker = {"/usr/lib/jvm/default-java/bin/java", "-cp",
                                              "/opt/kgpu-fn/bin:/usr/share/java/protobuf.jar",
                                              "io.grpc.fxwatcher.KgpuWorker"};

// Paths are relative to /function, so that a compiler's messages name files as their author does.
// Another CXX, such as nvcc of a CUDA image, takes the same flags.
constexpr Names kCompileCpp = R"(set -eu
dir=.${HANDLER_DIR#/function}
for file in "$dir"/*.cc "$dir"/*.cpp "$dir"/*.cxx "$dir"/*.cu; do
  if [ -e "$file" ]; then set -- "$@" "$file"; fi
done
if [ $# = 0 ]; then
  echo "$dir: no .cc, .cpp, .cxx or .cu file: put the handler there" >&2
  exit 1
fi
mkdir -p /opt/kgpu-fn/bin
case $HANDLER_NAME in
  Handler) name= ;;
  StreamHandler) name=-DKGPU_FN_STREAM ;;
  *) name="-DKGPU_FN_HANDLER=$HANDLER_NAME" ;;
esac
${CXX:-g++} -std=c++${CXX_STANDARD:-20} -O2 ${CXXFLAGS:-} -I/opt/kgpu-fn -I"$dir" $name \
  "$@" /opt/kgpu-fn/*.cc -o /opt/kgpu-fn/bin/worker \
  ${LDFLAGS:-} ${LIBS:-} -ldl -lpthread
)";

// The handler's files, the library's main.go and its packages sdk and mesh are one module. Debian's
// go brings no packages of others: a handler that needs some has them in vendor, or a go.mod and a
// proxy within reach. OpenFx's handlers import its own package, which ours takes the place of.
constexpr Names kCompileGo = R"(set -eu
dir=.${HANDLER_DIR#/function}
mkdir -p /opt/kgpu-fn/bin /opt/kgpu-fn/module
cp -R "$dir"/. /opt/kgpu-fn/module
cd /opt/kgpu-fn/module
cp -R /opt/kgpu-fn/sdk /opt/kgpu-fn/mesh .
sed "s/(Handler)/($HANDLER_NAME)/" /opt/kgpu-fn/main.go >kgpu_fn_main.go
[ -e go.mod ] || cp /opt/kgpu-fn/go.mod .
sed -i -e 's|"github.com/keti-openfx/openfx/executor/go/pb"|"function/sdk"|' \
  -e 's|"github.com/keti-openfx/openfx/executor/go/mesh"|"function/mesh"|' ./*.go
export GOPATH=/tmp/go GOCACHE=/tmp/go-cache GOFLAGS="-trimpath ${GOFLAGS:-}" CGO_ENABLED=0
go build -ldflags="-s -w" -o /opt/kgpu-fn/bin/worker .
)";

constexpr Names kCompileJava = R"(set -eu
dir=.${HANDLER_DIR#/function}
mkdir -p /opt/kgpu-fn/bin
/usr/lib/jvm/default-java/bin/javac -cp /usr/share/java/protobuf.jar -d /opt/kgpu-fn/bin \
  /opt/kgpu-fn/*.java "$dir"/*.java
)";

constexpr Names kInstallPip =
    "python3 -m pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore "
    "--target /opt/kgpu-fn/packages -r requirements.txt\n";
constexpr Names kInstallNpm = "npm install --omit=dev --no-audit --no-fund\n";
constexpr Names kInstallGem =
    "gem install --no-document --install-dir /opt/kgpu-fn/packages --file Gemfile\n";

constexpr std::array<BuildRecipe, 6> kRecipes = {{
    {.runtime = "cpp",
     .packages = kCppRun,
     .compiler_packages = kCppCompiler,
     .compile = kCompileCpp,
     .command = kProgram},
    {.runtime = "go", .compiler_packages = kGoCompiler, .compile = kCompileGo, .command = kProgram},
    {.runtime = "java",
     .packages = kJava,
     .compiler_packages = kJavaCompiler,
     .compile = kCompileJava,
     .command = kJavaWorker},
    {.runtime = "nodejs",
     .packages = kNode,
     .command = kNodeWorker,
     .dependencies = {.file = "package.json",
                      .packages = kNpm,
                      .script = kInstallNpm,
                      .folder = "/function/node_modules"}},
    {.runtime = "python3",
     .packages = kPython,
     .command = kPythonWorker,
     .dependencies = {.file = "requirements.txt",
                      .packages = kPip,
                      .script = kInstallPip,
                      .folder = "/opt/kgpu-fn/packages",
                      .variable = "PYTHONPATH=/opt/kgpu-fn/packages"}},
    {.runtime = "ruby",
     .packages = kRuby,
     .command = kRubyWorker,
     .dependencies = {.file = "Gemfile",
                      .packages = kGem,
                      .script = kInstallGem,
                      .folder = "/opt/kgpu-fn/packages",
                      .variable = "GEM_PATH=/opt/kgpu-fn/packages"}},
}};

bool HasWordBefore(std::string_view text, std::string_view word) {
  return std::ranges::any_of(Split(text, '\n'), [word](std::string_view line) {
    line = Trim(line);
    return !line.empty() && !line.starts_with('#') && line.starts_with(word);
  });
}

// package.json is JSON, but all that counts is whether its "dependencies" are {}.
bool HasNodeDependencies(std::string_view text) {
  constexpr std::string_view kKey = "\"dependencies\"";
  const size_t key = text.find(kKey);
  const size_t open = key == std::string_view::npos ? key : text.find('{', key + kKey.size());
  return open != std::string_view::npos && !Trim(text.substr(open + 1)).starts_with('}');
}

}  // namespace

StatusOr<const BuildRecipe*> FindRecipe(std::string_view runtime) {
  const auto* const found = std::ranges::find(kRecipes, runtime, &BuildRecipe::runtime);
  if (found != kRecipes.end()) {
    return found;
  }
  std::vector<std::string_view> names;
  std::ranges::transform(kRecipes, std::back_inserter(names), &BuildRecipe::runtime);
  const auto nearest = Nearest(runtime, names);
  return InvalidArgument(
      "runtime: there is no \"{}\": {}", Printable(runtime),
      nearest ? fmt::format("did you mean {}?", *nearest) : "run kgpu fn runtime list");
}

bool ListsPackages(std::string_view file, std::string_view text) {
  if (file == "package.json") {
    return HasNodeDependencies(text);
  }
  return HasWordBefore(text, file == "Gemfile" ? "gem " : "");
}

}  // namespace kgpu::functions
