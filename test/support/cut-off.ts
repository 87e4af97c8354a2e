/// <reference lib="dom" />

/** In the page: what somebody with this window cannot see whole: it reaches out of the window, is clipped, or is a cell left out. */
export function cutOff(): string[] {
  const { clientWidth, scrollWidth } = document.documentElement
  const cut = scrollWidth > clientWidth ? [`the page is ${scrollWidth} wide`] : []
  const name = (element: Element) => `${element.tagName} ${element.textContent?.trim().slice(0, 30)}`
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('.unseen, thead, [hidden], noscript')) continue
    if (!element.checkVisibility()) cut.push(`${name(element)} is not shown`)
    const { left, right } = element.getBoundingClientRect()
    if (left < 0 || right > clientWidth) cut.push(`${name(element)} reaches from ${Math.round(left)} to ${Math.round(right)}`)
    if (element.scrollWidth > element.clientWidth && getComputedStyle(element).overflowX !== 'visible')
      cut.push(`${name(element)} needs ${element.scrollWidth} and has ${element.clientWidth}`)
  }
  return cut
}
