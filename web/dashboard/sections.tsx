import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Panel, type PanelProps } from '../components/panel.js'
import { moveFocusTo } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'
import { type PanelName, placeIds, type SectionName, sectionNames } from './places.js'

/** A panel of the account page. An address such as `#two-step` leads to it. */
export const AccountPanel = ({ place, ...panel }: Omit<PanelProps, 'level' | 'anchor'> & { place: PanelName }) => (
  <Panel {...panel} level={3} anchor={place} />
)

/** A section of the account page: the panels of one subject. */
export const Section = ({ name, children }: { name: SectionName; children: ComponentChildren }) => (
  <section id={name}>
    <h2>{useWords('dashboard').sections[name]}</h2>
    {children}
  </section>
)

/** The links to all sections. */
export const SectionLinks = () => {
  const { title, sectionLinks } = useWords('dashboard')
  const shown = useSectionOnScreen()
  return (
    <nav class="section-links" aria-label={title}>
      <ul>
        {sectionNames.map((name) => (
          <li key={name}>
            <a
              href={`#${name}`}
              aria-current={name === shown ? 'location' : undefined}
              // A second press on the same link does not change the address, so the browser sends no `hashchange`.
              onClick={() => location.hash === `#${name}` && goToPlace(location.hash)}
            >
              {sectionLinks[name]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** The last section that begins in the upper third of the window or above it; at the end of the page, the last section. */
const useSectionOnScreen = () => {
  const [shown, setShown] = useState<SectionName>()
  useEffect(() => {
    const update = () => {
      const { scrollHeight } = document.documentElement
      const isAtEnd = scrollHeight > innerHeight && scrollY + innerHeight >= scrollHeight - 2
      const isReached = (name: SectionName) =>
        (document.getElementById(name)?.getBoundingClientRect().top ?? Number.POSITIVE_INFINITY) < innerHeight / 3
      setShown(isAtEnd ? sectionNames.at(-1) : (sectionNames.findLast(isReached) ?? sectionNames[0]))
    }
    update()
    addEventListener('scroll', update, { passive: true })
    return () => removeEventListener('scroll', update)
  }, [])
  return shown
}

/** Scrolls to the place that a fragment names, and moves the focus to its heading, so that a screen reader reads on from there. */
export const goToPlace = (fragment: string) => {
  const place = placeIds(fragment)
    .map((id) => document.getElementById(id))
    .find((element) => element !== null)
  if (!place) return
  place.scrollIntoView()
  // A field of the place may have taken the focus already.
  if (!place.contains(document.activeElement)) moveFocusTo(place.querySelector<HTMLElement>('h2, h3'))
}

/** Goes to the place in the address once the account is loaded. The browser has looked for the place too early. */
export const usePlaceInAddress = (isLoaded: boolean) => {
  useEffect(() => {
    if (!isLoaded) return
    const go = () => goToPlace(location.hash)
    go()
    addEventListener('hashchange', go)
    return () => removeEventListener('hashchange', go)
  }, [isLoaded])
}
