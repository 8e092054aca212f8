import { useState } from 'preact/hooks'
import type { UsableApplication } from '#contract/schemas.js'
import { useWords } from '../hooks/settings.js'

/** With fewer, one sees them all at once. */
const fewestToSearch = 8

const Tile = ({ application: { name, home, icon } }: { application: UsableApplication }) => (
  <li>
    <a class="tile" href={home}>
      {icon === null ? (
        <span class="tile-letter" aria-hidden="true">
          {[...name][0]?.toUpperCase()}
        </span>
      ) : (
        <img class="tile-icon" src={icon} alt="" width="40" height="40" />
      )}
      <span class="tile-name">{name}</span>
    </a>
  </li>
)

/** The applications that the user may open. Shows nothing if there is none. */
export const Start = ({ applications }: { applications: readonly UsableApplication[] }) => {
  const { start: words } = useWords('dashboard')
  const [text, setText] = useState('')
  if (applications.length === 0) return null
  const wanted = text.trim().toLowerCase()
  const found = applications.filter(({ name }) => name.toLowerCase().includes(wanted))
  return (
    <section class="start" aria-labelledby="start-title">
      <h2 id="start-title">{words.title}</h2>
      {applications.length >= fewestToSearch && (
        <input
          type="search"
          class="start-search"
          aria-label={words.search}
          placeholder={words.search}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      )}
      <ul class="tiles">
        {found.map((application) => (
          <Tile key={application.id} application={application} />
        ))}
      </ul>
      {found.length === 0 && <p role="status">{words.none}</p>}
    </section>
  )
}
