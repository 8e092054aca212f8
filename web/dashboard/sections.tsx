import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Panel, type PanelProps } from '../components/panel.js'
import { moveFocusTo } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'

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

/**
 * The sections of the account page and their panels, in order. Each has an address, such as /dashboard#two-step, to which
 * applications and mails can link: packages/client/README.md lists them, so a name must not change.
 */
export const panelsOfSections = {
  profile: ['names', 'email', 'language', 'details'],
  'signing-in': ['password', 'passkeys', 'two-step', 'providers'],
  devices: ['sessions', 'trusted-browsers', 'applications', 'tokens', 'activity'],
  data: ['export', 'delete'],
} as const

export type SectionName = keyof typeof panelsOfSections
export type PanelName = (typeof panelsOfSections)[SectionName][number]

export const sectionNames = Object.keys(panelsOfSections) as SectionName[]

/** The ids to look for, the best first: an account may lack a panel, but never its section. */
export const placeIds = (fragment: string): string[] => {
  const name = fragment.replace(/^#/, '')
  const section = sectionNames.find((each) => each === name || panelsOfSections[each].some((panel) => panel === name))
  return section === undefined ? [] : [name, section]
}
