#include <sinew/scene/obj.h>

#include <clocale>
#include <cmath>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <tests/support/assets.h>

namespace sinew {
namespace {

const std::string kSquare = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

std::string error_of(const std::string& text) {
  try {
    parse_obj(text, "body.obj");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ObjReader, VerticesAndPolygonsStayAsTheyAre) {
  const Scene scene = parse_obj(kSquare + "v 2 0 0\nv 3 0 0\nf 1 2 3 4\nf 2 5 3\nf 1 2 5 3 4\n", "body.obj");
  ASSERT_EQ(scene.meshes.size(), 1u);
  const Mesh& surface = scene.meshes[0].surface;
  ASSERT_EQ(surface.positions.size(), 6u);  // the last one is used by no face, and stays
  EXPECT_EQ(surface.positions[4], Vec3f(2, 0, 0));
  EXPECT_EQ(surface.polygons.corners, (std::vector<std::uint32_t>{0, 1, 2, 3, 1, 4, 2, 0, 1, 4, 2, 3}));
  EXPECT_EQ(surface.polygons.starts, (std::vector<std::uint32_t>{0, 4, 7, 12}));
  EXPECT_EQ(surface.triangles.size(), 2u + 1 + 3);
  EXPECT_EQ(scene.meshes[0].name, "body");
  EXPECT_TRUE(scene.meshes[0].normals.empty());
  EXPECT_TRUE(scene.meshes[0].texcoords.empty());
  EXPECT_TRUE(scene.warnings.empty());
}

TEST(ObjReader, CornersNameUvsAndNormals) {
  const Scene scene = parse_obj(
      kSquare + "vt 0.25 0.125\nvt 1\nvn 0 0 1\nvn 0 3 4\nf 1/1/1 2/2/2 3/1/1\nf 1/2/2 3/1/2 4/1/1\n",
      "body.obj");
  const SceneMesh& mesh = scene.meshes[0];
  EXPECT_EQ(mesh.texcoords.corners, (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(mesh.texcoords.values[0], Vec2f(0.25f, 0.875f));  // v runs down
  EXPECT_EQ(mesh.texcoords.values[1], Vec2f(1, 1));
  EXPECT_EQ(mesh.normals.corners, (std::vector<std::uint32_t>{0, 1, 0, 1, 1, 0}));
  EXPECT_LT((mesh.normals.values[1] - Vec3f(0, 0.6f, 0.8f)).norm(), 1e-6f);  // brought to unit length
}

TEST(ObjReader, NormalsWithoutUvs) {
  const Scene scene = parse_obj(kSquare + "vn 0 0 1\nf 1//1 2//1 3//1\n", "body.obj");
  EXPECT_EQ(scene.meshes[0].normals.corners, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_TRUE(scene.meshes[0].texcoords.empty());
}

TEST(ObjReader, NegativeNumbersCountBackwards) {
  const Scene scene = parse_obj(kSquare + "f -4 -3 -2\nv 5 5 5\nf -1 1 2\n", "body.obj");
  EXPECT_EQ(scene.meshes[0].surface.polygons.corners, (std::vector<std::uint32_t>{0, 1, 2, 4, 0, 1}));
}

TEST(ObjReader, FreeForm) {
  // Byte order mark, CRLF, tabs, indentation, comments, continued lines, plus signs, exponents, no last
  // newline.
  const std::string text =
      "\xEF\xBB\xBFv  +0 0\t0 # here\r\n# made by C:\\tools\\\r\n \tv 1e0 0 0\r\nv 1 \\\r\n 1 \\\n 0\r\n\r\n"
      "v 0 .5 -1.5E-1\nf 1 2\\\n 3 4";
  const Scene scene = parse_obj(text, "body.obj");
  const Mesh& surface = scene.meshes[0].surface;
  ASSERT_EQ(surface.positions.size(), 4u);
  EXPECT_EQ(surface.positions[1], Vec3f(1, 0, 0));
  EXPECT_EQ(surface.positions[2], Vec3f(1, 1, 0));
  EXPECT_EQ(surface.positions[3], Vec3f(0, 0.5f, -0.15f));
  EXPECT_TRUE(scene.warnings.empty());
  EXPECT_EQ(surface.polygons.corners, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(ObjReader, ColoursAndWeightsOfVerticesAreSkipped) {
  const Scene scene =
      parse_obj("v 0 0 0 1\nv 1 0 0 0.5 0.5 0.5\nv 0 1 0 1 0.1 0.2 0.3\nf 1 2 3\n", "body.obj");
  EXPECT_EQ(scene.meshes[0].surface.positions[2], Vec3f(0, 1, 0));
  EXPECT_TRUE(scene.warnings.empty());
}

TEST(ObjReader, TinyNumbersAreZeroAndHugeOnesRefused) {
  const Scene scene = parse_obj("v 1e-60 1e-999 -1e-42\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "body.obj");
  EXPECT_EQ(scene.meshes[0].surface.positions[0].head<2>(), Vec2f(0, 0));
  EXPECT_NE(error_of("v 1e39 0 0\n").find("line 1: coordinate is '1e39', which is not finite"),
            std::string::npos);
}

TEST(ObjReader, DirectivesStandBeforeTheirPolygon) {
  const Scene scene = parse_obj("mtllib a b.mtl\no Body  one\n" + kSquare +
                                    "g head skin\nusemtl red # dark\ns 1\nf 1 2 3\ns off\nf 1 3 4\ng\n",
                                "x.obj");
  const std::vector<std::pair<std::uint32_t, std::string>> expected{{0, "mtllib a b.mtl"},
                                                                    {0, "o Body  one"},
                                                                    {0, "g head skin"},
                                                                    {0, "usemtl red # dark"},
                                                                    {0, "s 1"},
                                                                    {1, "s off"},
                                                                    {2, "g"}};
  EXPECT_EQ(scene.meshes[0].obj_directives, expected);
  EXPECT_EQ(scene.meshes[0].name, "Body  one");
}

TEST(ObjReader, SkippedThingsAreReportedOnce) {
  const Scene scene =
      parse_obj(kSquare + "p 1\nl 1 2\nl 2 3\nf 1 2\nf 1 2 3\ncurv 0 1 2\nweird\nweird\n", "body.obj");
  ASSERT_EQ(scene.warnings.size(), 3u);
  EXPECT_EQ(scene.warnings[0], "body.obj: 1 faces with fewer than three corners skipped");
  EXPECT_EQ(scene.warnings[1], "body.obj: 3 point and line elements skipped");
  EXPECT_EQ(scene.warnings[2],
            "body.obj: 3 lines with unknown keywords skipped, the first one line 10, 'curv'");
}

TEST(ObjReader, MissingNormalsAreComputedAndTheOthersKept) {
  // The floor has its own normal; the wall, two triangles in x = 0, has none.
  const Scene scene =
      parse_obj("v 0 0 0\nv 0 0 1\nv 1 0 0\nv 0 1 0\nv 0 1 1\nvn 0 1 0\nf 1//1 2//1 3//1\nf 1 2 5\nf 1 5 4\n",
                "body.obj");
  const CornerValues<Vec3f>& normals = scene.meshes[0].normals;
  ASSERT_EQ(normals.corners.size(), 9u);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(normals.values[normals.corners[c]], Vec3f(0, 1, 0));
  for (std::size_t c = 3; c < 9; ++c)
    EXPECT_LT((normals.values[normals.corners[c]] - Vec3f(-1, 0, 0)).norm(), 1e-6f) << c;
  ASSERT_EQ(scene.warnings.size(), 1u);
  EXPECT_EQ(scene.warnings[0], "body.obj: 6 of 9 polygon corners have no normal; theirs were computed");
}

TEST(ObjReader, NumbersDoNotDependOnTheLocale) {
  const char* const before = std::setlocale(LC_ALL, nullptr);
  const std::string saved = before != nullptr ? before : "C";
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) std::setlocale(LC_ALL, "");
  const Scene scene = parse_obj("v 0.5 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "body.obj");
  std::setlocale(LC_ALL, saved.c_str());
  EXPECT_EQ(scene.meshes[0].surface.positions[0].x(), 0.5f);
}

struct Broken {
  const char* text;
  const char* message;
};

TEST(ObjReader, BrokenFilesAreNamed) {
  const Broken cases[] = {
      {"", "body.obj: no faces"},
      {"v 0 0 0\n", "body.obj: no faces"},
      {"# nothing\n\n", "body.obj: no faces"},
      {"v 0 0\nf 1 1 1\n", "body.obj: line 1: coordinate is missing"},
      {"v 0 0 zero\n", "body.obj: line 1: coordinate is 'zero', which is not a number"},
      {"v 0 0 1x\n", "line 1: coordinate is '1x', which is not a number"},
      {"v 0 0 +-1\n", "not a number"},
      {"v nan 0 0\n", "line 1: coordinate is 'nan', which is not finite"},
      {"v 0 -inf 0\n", "line 1: coordinate is '-inf', which is not finite"},
      {"v 0 0 0 red\n", "line 1: number is 'red'"},
      {"\n\nvn 0 0\n", "line 3: coordinate is missing"},
      {"vn 0 0 1 1\n", "line 1: '1' is too much on this line"},
      {"vt\n", "line 1: u is missing"},
      {"vt nan 0\n", "line 1: u is 'nan'"},
      {"vt 0 1e300\n", "line 1: a UV is too large"},
      {"v 0 0 0\nv 1 0 0\nf 1 2 3\nv 1 1 1\n", "body.obj: line 3: vertex 3 does not exist (2 so far)"},
      {"v 0 0 0\nf 1 1 99\n", "line 2: vertex 99 does not exist (1 so far)"},
      {"v 0 0 0\nf 1 1 -2\n", "line 2: vertex -2 does not exist (1 so far)"},
      {"v 0 0 0\nf 0 1 1\n", "line 2: '0': numbers start at 1"},
      {"v 0 0 0\nf 1 1 99999999999999999999\n", "vertex 99999999999999999999 does not exist"},
      {"v 0 0 0\nf 1/1 1/1 1/1\n", "line 2: UV 1 does not exist (0 so far)"},
      {"v 0 0 0\nf 1//2 1//2 1//2\n", "line 2: normal 2 does not exist (0 so far)"},
      {"v 0 0 0\nf a b c\n", "line 2: 'a' is not a corner"},
      {"v 0 0 0\nf 1.5 1 1\n", "line 2: '1.5' is not a corner"},
      {"v 0 0 0\nf 1/ 1/ 1/x\n", "line 2: '1/x' is not a corner"},
      {"v 0 0 0\nvn 0 0 1\nf 1//1/1 1 1\n", "line 3: '1//1/1' is not a corner"},
      {"v 0 0 0\nf / 1 1\n", "line 2: '/' is not a corner"},
      {"v 0 0 \\\n0\nf 1 1 7\n", "line 3: vertex 7 does not exist"},
  };
  for (const Broken& broken : cases)
    EXPECT_NE(error_of(broken.text).find(broken.message), std::string::npos) << broken.text << " gives\n"
                                                                             << error_of(broken.text);
}

TEST(ObjReader, RealBody) {
  const auto path = test::asset("human_unrigged.obj");
  if (!path) GTEST_SKIP() << test::missing_asset("human_unrigged.obj");
  const Scene scene = read_obj(*path);
  EXPECT_EQ(scene.meshes[0].surface.positions.size(), 13380u);
  EXPECT_TRUE(scene.warnings.empty());
}

}  // namespace
}  // namespace sinew
