#include "src/functions/gateway/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>

#include "src/functions/gateway/routes.h"
#include "src/platform/doc/doc.h"

namespace kgpu::gateway {
namespace {

using boost::json::object;
using ::testing::HasSubstr;
using ::testing::Not;

// The operation of a route, found as a reader of the document would.
const object* OperationOf(const object& document, const Route& route) {
  std::string path(route.path);
  if (const size_t rest = path.find("}{Path}"); rest != std::string::npos) {
    path.insert(rest + 1, "/");
  }
  std::string method(route.method);
  for (char& c : method) {
    c = static_cast<char>(std::tolower(c));
  }
  const boost::json::value* item = document.at("paths").get_object().if_contains(path);
  const boost::json::value* operation =
      item == nullptr ? nullptr : item->get_object().if_contains(method);
  return operation == nullptr ? nullptr : operation->if_object();
}

TEST(OpenApiTest, HasEachRouteOfTheGateway) {
  const object document = OpenApiDocument("1.2.3", true);
  EXPECT_EQ(document.at("openapi"), "3.0.3");
  EXPECT_EQ(document.at("info").at("version"), "1.2.3");
  size_t operations = 0;
  for (const auto& [path, item] : document.at("paths").get_object()) {
    operations += item.get_object().size();
  }
  EXPECT_EQ(operations, Routes().size());
  for (const Route& route : Routes()) {
    const object* operation = OperationOf(document, route);
    ASSERT_NE(operation, nullptr) << route.id;
    EXPECT_EQ(operation->at("operationId").as_string(), std::string(route.id));
    EXPECT_EQ(operation->contains("security"), route.role != Role::kNone) << route.id;
    EXPECT_EQ(operation->contains("requestBody"), !route.request.empty()) << route.id;
  }
}

TEST(OpenApiTest, RefersToSchemasThatAreThere) {
  const object document = OpenApiDocument("1", false);
  const std::string text = doc::PrintLine(document);
  const object& schemas = document.at("components").at("schemas").get_object();
  const std::string reference = "#/components/schemas/";
  size_t found = 0;
  for (size_t at = text.find(reference); at != std::string::npos; at = text.find(reference, at)) {
    at += reference.size();
    EXPECT_TRUE(schemas.contains(text.substr(at, text.find('"', at) - at)));
    ++found;
  }
  EXPECT_GT(found, Routes().size());
}

TEST(OpenApiTest, HasNoTokensWhereNoneAreNeeded) {
  EXPECT_THAT(doc::PrintLine(OpenApiDocument("1", false)), Not(HasSubstr("bearer")));
  EXPECT_THAT(doc::PrintLine(OpenApiDocument("1", true)), HasSubstr(R"("scheme":"bearer")"));
}

}  // namespace
}  // namespace kgpu::gateway
