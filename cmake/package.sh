#!/usr/bin/env bash
# Packs what build/release holds: out/package/sinew-VERSION-linux-ARCH.tar.gz, which runs from any folder of any Debian 12
# because it brings its shared libraries, and sinew_VERSION_ARCH.deb, which depends on Debian's. Both hold the command line,
# manual page and completions, library, headers and CMake package.
set -euo pipefail
build=$1 out=$2
version=$(sed -n 's/^#define SINEW_VERSION "\(.*\)"/\1/p' "$build/generated/sinew/version.h")
machine=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$out"

install_to() { cmake --install "$build" --prefix "$1" --strip >/dev/null; }

# Shared libraries of the program but those of the C library, which every Linux has to match its kernel and loader.
libraries_of() { ldd "$1" | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|libdl|libpthread|librt)\.so'; }

# Files of each bundled library's package that say under which terms it may be passed on.
copy_licences() {
  local package
  for package in $(printf '%s\n' "$@" | xargs -n 1 readlink -f | xargs -n 1 dpkg -S 2>/dev/null | cut -d: -f1 | sort -u); do
    cp "/usr/share/doc/$package/copyright" "$licences/$package"
  done
}

# --- The archive.
name=sinew-$version-linux-$machine
root=$stage/$name
install_to "$root"
mkdir -p "$root/lib/sinew"
mapfile -t libraries < <(libraries_of "$root/bin/sinew")
cp -L "${libraries[@]}" "$root/lib/sinew/"
licences=$root/share/doc/Sinew/licences
mkdir -p "$licences"
copy_licences "${libraries[@]}"
tar -C "$stage" --owner=0 --group=0 --sort=name -czf "$out/$name.tar.gz" "$name"

# --- The package. Headers need Debian's -dev packages, the program only what it is linked with.
root=$stage/deb
install_to "$root/usr"
mkdir -p "$root/DEBIAN" "$stage/debian"
printf 'Source: sinew\n\nPackage: sinew\nArchitecture: any\n' >"$stage/debian/control"
depends=$(cd "$stage" && dpkg-shlibdeps -O deb/usr/bin/sinew 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
gzip -9n "$root"/usr/share/man/man1/*
cat >"$root/DEBIAN/control" <<CONTROL
Package: sinew
Version: $version
Architecture: $machine
Maintainer: The Sinew authors <sinew@localhost>
Section: graphics
Priority: optional
Installed-Size: $(du -ks "$root/usr" | cut -f1)
Depends: $depends
Suggests: libeigen3-dev, libtbb-dev, libfmt-dev, nlohmann-json3-dev, libassimp-dev, libembree-dev, libhwy-dev, libpng-dev, libwebp-dev, pkg-config
Description: rigs characters and deforms their skin like flesh
 Sinew fits a rig to a mesh, binds it with weights and deforms it: limbs fold
 into contact, volume stays, tissue bulges, jiggles and wrinkles. Command line
 and C++ library; a program that links the library needs the suggested packages.
CONTROL
dpkg-deb --root-owner-group --build "$root" "$out/sinew_${version}_$machine.deb" >/dev/null

# --- What was packed must run where nothing of the build is found.
trial=$stage/trial
mkdir "$trial"
tar -C "$trial" -xzf "$out/$name.tar.gz"
env -i PATH=/usr/bin:/bin HOME="$trial" "$trial/$name/bin/sinew" generate tube -o "$trial/tube.glb"
env -i PATH=/usr/bin:/bin HOME="$trial" "$trial/$name/bin/sinew" info "$trial/tube.glb" >/dev/null
if env -i PATH=/usr/bin:/bin ldd "$trial/$name/bin/sinew" | awk '$3 ~ /^\// {print $3}' |
    grep -vE "^$trial/|/(libc|libm|libdl|libpthread|librt)\.so"; then
  echo "package: these libraries are not in the archive" >&2
  exit 1
fi
ls -l "$out/$name.tar.gz" "$out/sinew_${version}_$machine.deb" | awk '{printf "%s  %.1f MB\n", $NF, $5 / 1e6}'
