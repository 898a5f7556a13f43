#include <sinew/geometry/predicates.h>

#include <array>
#include <cmath>

namespace sinew {

namespace {

// How it works (Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
// Predicates", 1997): the determinant is computed in double first. If its size exceeds a bound on the
// rounding error, the sign is right. Else the determinant is summed up exactly. Written out, it is a sum of
// products of two (2D) or three (3D) float coordinates. A product of two floats has at most 48 bits: it fits
// a double. A product of that with a third float is the sum of two doubles, x·y and fma(x, y, -x·y). All of
// them are exact because exponents of float products stay between 2^-447 and 2^384, far inside double's
// range. The sum of the doubles is kept as an expansion: doubles that do not overlap, growing in size, whose
// exact sum is the value, so that the last one that is not zero has the sign of the whole.
constexpr double kEpsilon = 0x1p-53;
constexpr double kBound2d = (3 + 16 * kEpsilon) * kEpsilon;
constexpr double kBound3d = (7 + 56 * kEpsilon) * kEpsilon;

template <int kCapacity>
class Expansion {
 public:
  // Shewchuk's GROW-EXPANSION, with zeros left out.
  void add(double x) {
    int kept = 0;
    for (int i = 0; i < size_; ++i) {
      const double sum = x + parts_[i];
      const double part = sum - x;
      const double error = (x - (sum - part)) + (parts_[i] - part);
      if (error != 0) parts_[kept++] = error;
      x = sum;
    }
    if (x != 0) parts_[kept++] = x;
    size_ = kept;
  }

  void add_product(double x, double y) {
    const double product = x * y;
    add(std::fma(x, y, -product));
    add(product);
  }

  int sign() const { return size_ == 0 ? 0 : parts_[size_ - 1] > 0 ? 1 : -1; }

 private:
  std::array<double, kCapacity> parts_;
  int size_ = 0;
};

int sign_of(double x) {
  return (x > 0) - (x < 0);
}

int exact_orient2d(const Vec3f& a, const Vec3f& b, const Vec3f& c, int u, int v) {
  Expansion<8> sum;
  const auto add_cross = [&](const Vec3f& p, const Vec3f& q) {
    sum.add(double{p[u]} * q[v]);
    sum.add(-double{p[v]} * q[u]);
  };
  add_cross(a, b);
  add_cross(b, c);
  add_cross(c, a);
  return sum.sign();
}

int exact_orient3d(const Vec3f& a, const Vec3f& b, const Vec3f& c, const Vec3f& d) {
  Expansion<64> sum;
  const auto add_determinant = [&](double sign, const Vec3f& p, const Vec3f& q, const Vec3f& r) {
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      sum.add_product(double{q[j]} * r[k], sign * p[i]);
      sum.add_product(-double{q[k]} * r[j], sign * p[i]);
    }
  };
  // (a - d) · ((b - d) × (c - d)), multiplied out.
  add_determinant(1, a, b, c);
  add_determinant(-1, d, b, c);
  add_determinant(-1, a, d, c);
  add_determinant(-1, a, b, d);
  return sum.sign();
}

}  // namespace

int orient2d(const Vec3f& a, const Vec3f& b, const Vec3f& c, int u, int v) {
  const double left = (double{a[u]} - c[u]) * (double{b[v]} - c[v]);
  const double right = (double{a[v]} - c[v]) * (double{b[u]} - c[u]);
  const double determinant = left - right;
  const double size = std::abs(left) + std::abs(right);
  // A difference of floats is 0 only when they are equal, and no product underflows, so no size means no
  // determinant: this spares flat axis-parallel meshes the exact sum.
  if (std::abs(determinant) > kBound2d * size || size == 0) return sign_of(determinant);
  return exact_orient2d(a, b, c, u, v);
}

int orient3d(const Vec3f& a, const Vec3f& b, const Vec3f& c, const Vec3f& d) {
  // Scalars, not Vec3d: this is the inner loop of intersection tests.
  const double ax = double{a.x()} - d.x(), ay = double{a.y()} - d.y(), az = double{a.z()} - d.z();
  const double bx = double{b.x()} - d.x(), by = double{b.y()} - d.y(), bz = double{b.z()} - d.z();
  const double cx = double{c.x()} - d.x(), cy = double{c.y()} - d.y(), cz = double{c.z()} - d.z();
  const double bycz = by * cz, bzcy = bz * cy, bzcx = bz * cx, bxcz = bx * cz, bxcy = bx * cy, bycx = by * cx;
  const double determinant = ax * (bycz - bzcy) + ay * (bzcx - bxcz) + az * (bxcy - bycx);
  const double size = std::abs(ax) * (std::abs(bycz) + std::abs(bzcy)) +
                      std::abs(ay) * (std::abs(bzcx) + std::abs(bxcz)) +
                      std::abs(az) * (std::abs(bxcy) + std::abs(bycx));
  if (std::abs(determinant) > kBound3d * size || size == 0) return sign_of(determinant);
  // Corners that two triangles share are the usual reason to arrive here.
  if (a == d || b == d || c == d || a == b || b == c || c == a) return 0;
  return exact_orient3d(a, b, c, d);
}

bool collinear(const Vec3f& a, const Vec3f& b, const Vec3f& c) {
  return orient2d(a, b, c, 0, 1) == 0 && orient2d(a, b, c, 1, 2) == 0 && orient2d(a, b, c, 2, 0) == 0;
}

}  // namespace sinew
