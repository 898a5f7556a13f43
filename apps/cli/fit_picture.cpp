#include "apps/cli/fit_picture.h"

#include <tuple>
#include <vector>

#include <sinew/picture/camera.h>
#include <sinew/picture/clay.h>
#include <sinew/picture/contact_sheet.h>
#include <sinew/picture/drawn_surface.h>
#include <sinew/scene/merge_rig.h>

namespace sinew::cli {

Image draw_fit(const FittedScene& fitted) {
  constexpr Rgb kBone{245, 166, 35}, kController{70, 150, 90}, kGraph{60, 110, 200};
  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  const BindPose pose = bind_pose(fitted.scene);
  for (std::size_t m = 0; m < fitted.scene.meshes.size(); ++m) {
    const auto first = static_cast<std::uint32_t>(positions.size());
    for (const Vec3f& p : fitted.scene.meshes[m].surface.positions)
      positions.push_back((pose.scene_from_mesh[m] * p.cast<double>()).cast<float>());
    for (const Triangle& t : fitted.scene.meshes[m].surface.triangles)
      triangles.push_back({t[0] + first, t[1] + first, t[2] + first});
  }
  const DrawnSurface surface(MeshView{positions, triangles});
  std::vector<DrawnBone> graph, bones;
  const LimbGraph& limbs = fitted.report.mesh_graph;
  for (const LimbGraph::Arc& arc : limbs.arcs) {
    Vec3d last = limbs.nodes[arc.from].position;
    for (std::size_t k = 0; k < arc.points.size(); k += k + 6 < arc.points.size() ? 6 : 1) {
      graph.push_back({last.cast<float>(), arc.points[k].cast<float>(), kGraph});
      last = arc.points[k];
    }
  }
  for (const RigBone& bone : fitted.rig.bones)
    bones.push_back({bone.head.cast<float>(), bone.tail.cast<float>(), bone.deforms ? kBone : kController});
  std::vector<CaptionedImage> views;
  ClayOptions clay;
  clay.width = clay.height = 720;
  for (const auto& [name, drawn, yaw] :
       {std::tuple{"limbs found", &graph, 0.0}, std::tuple{"rig, from the front", &bones, 0.0},
        std::tuple{"from the side", &bones, 90.0}}) {
    View view = parse_view("front");
    view.yaw += yaw;
    CameraFit fit(view, 1.0);
    fit.add(positions);
    clay.bones = *drawn;
    views.push_back({render_clay(surface, {positions, {}, false}, fit.camera(), clay), name});
  }
  return side_by_side(views, 15);
}

}  // namespace sinew::cli
