import { Section, SectionLinks, sectionNames } from './sections.js'

/** What stands at the same place once the account is known, and boxes where its panels will be: nothing jumps when it comes. */
export const AccountFrame = () => (
  <div class="account frame">
    <SectionLinks />
    <div class="sections" aria-busy="true">
      {sectionNames.map((name) => (
        <Section key={name} name={name}>
          <div class="panel" />
        </Section>
      ))}
    </div>
  </div>
)
