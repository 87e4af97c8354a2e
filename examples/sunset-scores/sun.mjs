// When the sun rises and sets, by the sunrise equation: good to a minute or two, which is enough to choose an evening.
const rad = Math.PI / 180
const day = 86_400_000

/** The two moments of a day at a place; undefined where the sun does not rise or does not set. */
export function sunTimes(lat, lon, date) {
  const n = Math.round((Date.parse(`${date}T12:00:00Z`) - Date.UTC(2000, 0, 1, 12)) / day)
  const noon = n - lon / 360
  const anomaly = (357.5291 + 0.98560028 * noon) % 360
  const center = 1.9148 * Math.sin(anomaly * rad) + 0.02 * Math.sin(2 * anomaly * rad) + 0.0003 * Math.sin(3 * anomaly * rad)
  const longitude = (anomaly + center + 282.9372) % 360
  const transit = noon + 0.0053 * Math.sin(anomaly * rad) - 0.0069 * Math.sin(2 * longitude * rad)
  const declination = Math.asin(Math.sin(longitude * rad) * Math.sin(23.4397 * rad))
  const cosine =
    (Math.sin(-0.833 * rad) - Math.sin(lat * rad) * Math.sin(declination)) / (Math.cos(lat * rad) * Math.cos(declination))
  if (Math.abs(cosine) > 1) return undefined
  const half = Math.acos(cosine) / rad / 360
  const moment = (days) => new Date(Date.UTC(2000, 0, 1, 12) + days * day)
  return { sunrise: moment(transit - half), sunset: moment(transit + half) }
}

/** From 0 to 100: high clouds burn, low ones hide the sun, and damp air dulls the colours. */
export function burningSky({ highClouds, lowClouds, humidity }) {
  return Math.round(Math.max(0, Math.min(100, 100 * highClouds * (1 - lowClouds) * (1.2 - humidity))))
}
