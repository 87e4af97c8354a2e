/// <reference lib="dom" />

/** In the page: texts whose colour is closer to that of their ground than 4.5 to 1, the least that is agreed to be legible. */
export function contrasts(): string[] {
  const channels = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number)
  const light = (colour: string) => {
    const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const ground = (element: Element | null): string => {
    const colour = element ? getComputedStyle(element).backgroundColor : 'rgb(255, 255, 255)'
    return channels(colour)[3] === 0 ? ground(element?.parentElement ?? null) : colour
  }
  const weak: string[] = []
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim())
    if (!own || !element.checkVisibility()) continue
    const [a, b] = [light(getComputedStyle(element).color), light(ground(element))]
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    if (ratio < 4.5) weak.push(`${element.tagName} ${element.textContent?.slice(0, 30)} ${ratio.toFixed(1)}`)
  }
  return weak
}
