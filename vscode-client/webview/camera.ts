/** Which part of a scene is seen, and how large. */
import type { Place } from "./scene";

/** The point of the scene in the view's upper left corner, and how many pixels of the view one unit takes. */
export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

const SMALLEST = 0.002;
const LARGEST = 4;
const READABLE = 0.6;
const MARGIN = 24;

/** Moved by so many pixels of the view. */
export function panned({ x, y, scale }: Camera, right: number, down: number): Camera {
  return { x: x + right / scale, y: y + down / scale, scale };
}

/** Larger by `factor`, with what is at one point of the view staying there. */
export function zoomed(camera: Camera, factor: number, at: { x: number; y: number }): Camera {
  const scale = Math.min(LARGEST, Math.max(SMALLEST, camera.scale * factor));
  const x = camera.x + at.x / camera.scale - at.x / scale;
  const y = camera.y + at.y / camera.scale - at.y / scale;
  return { x, y, scale };
}

/** With all of a place in view. */
export function fitted(place: Place, view: Size): Camera {
  const scale = Math.min((view.width - 2 * MARGIN) / place.width, (view.height - 2 * MARGIN) / place.height, 1);
  return centred(place, view, Math.max(scale, SMALLEST));
}

/** With the beginning of a scene in view, large enough to be read. */
export function atTop(scene: Place, view: Size): Camera {
  const { scale } = fitted(scene, view);
  if (scale >= READABLE) {
    return fitted(scene, view);
  }
  const camera = centred(scene, view, READABLE);
  return { ...camera, y: scene.y - MARGIN / READABLE };
}

/** With the middle of a place in the middle of the view. */
export function centred(place: Place, view: Size, scale: number): Camera {
  return {
    x: place.x + place.width / 2 - view.width / scale / 2,
    y: place.y + place.height / 2 - view.height / scale / 2,
    scale,
  };
}

/** The part of the scene that is seen. */
export function seen({ x, y, scale }: Camera, view: Size): Place {
  return { x, y, width: view.width / scale, height: view.height / scale };
}
