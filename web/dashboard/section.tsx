import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Panel, type PanelProps } from '../components/panel.js'
import { useWords } from '../hooks/settings.js'
import { goToPlace } from './place-in-address.js'
import { type PanelName, type SectionName, sectionNames } from './places.js'

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
