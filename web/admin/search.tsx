import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { SearchIcon } from '../components/icons.js'
import { useLoaded } from '../hooks/loaded.js'
import { useWords } from '../hooks/settings.js'
import { useDebounced, useStableCallback } from '../hooks/stable.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { fragmentOf, screenNames } from './place.js'

/** Opens with `/` or Ctrl K, wherever nothing is typed and no dialog is open. */
export const Search = () => {
  const words = useWords('admin').searchAll
  const [isOpen, setOpen] = useState(false)
  const open = useStableCallback((event: KeyboardEvent) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select, textarea')
    const isKey =
      (event.key === '/' && !isTyping) || (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey))
    if (!isKey || event.altKey || document.querySelector('dialog:modal')) return
    event.preventDefault()
    setOpen(true)
  })
  useEffect(() => {
    document.addEventListener('keydown', open)
    return () => document.removeEventListener('keydown', open)
  }, [])
  return (
    <>
      <button type="button" class="search-all" aria-keyshortcuts="/ Control+K" onClick={() => setOpen(true)}>
        <SearchIcon />
        <span>{words.action}</span>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  )
}

type Found = { key: string; kind: string; label: string; detail: string; href: string }

const maxOfKind = 6
/** A shorter text finds too many users. */
const shortestForUsers = 2

/** What the text finds: screens, applications and groups at once, users a moment later. */
const useFound = (text: string) => {
  const words = useWords('admin')
  const { settings, resource } = useWords('configuration')
  const ignore = () => true
  const groups = useLoaded(calls.groups, ignore).value?.groups ?? []
  const applications = useLoaded(calls.applications, ignore).value?.applications ?? []
  const resources = useLoaded(calls.resources, ignore).value?.resources ?? []
  const settled = useDebounced(text, 200)
  const asksForUsers = settled.length >= shortestForUsers
  const users = useLoaded(
    async () => {
      if (!asksForUsers) return { value: { search: settled, users: [] } }
      const answer = await calls.users({ search: settled })
      return { value: { search: settled, users: answer.refused ? [] : answer.value.users } }
    },
    ignore,
    settled,
  )
  const isFound = (...texts: string[]) => texts.some((each) => each.toLowerCase().includes(text.toLowerCase()))
  const found: Found[] = [
    ...screenNames
      .filter((name) => isFound(words[name]))
      .map((name) => ({
        key: name,
        kind: words.searchAll.page,
        label: words[name],
        detail: '',
        href: fragmentOf(name),
      })),
    ...(text === '' ? [] : Object.entries(settings))
      .filter(([, label]) => isFound(label))
      .map(([name, label]) => ({
        key: `setting ${name}`,
        kind: words.settings,
        label,
        detail: '',
        href: fragmentOf('settings'),
      })),
    ...(text === '' ? [] : applications)
      .filter(({ name, id, home }) => isFound(name, id, home ?? ''))
      .slice(0, maxOfKind)
      .map(({ id, name, home }) => ({
        key: `application ${id}`,
        kind: words.columns.application,
        label: name,
        detail: home ?? '',
        href: fragmentOf('applications', id),
      })),
    ...(text === '' ? [] : resources)
      .filter(({ name, address }) => isFound(name, address))
      .slice(0, maxOfKind)
      .map(({ id, name, address }) => ({
        key: `resource ${id}`,
        kind: resource.one,
        label: name,
        detail: address,
        href: fragmentOf('resources', id),
      })),
    ...(text === '' ? [] : groups)
      .filter(({ name }) => isFound(name))
      .slice(0, maxOfKind)
      .map(({ name, members }) => ({
        key: `group ${name}`,
        kind: words.columns.group,
        label: name,
        detail: `${words.columns.members}: ${members}`,
        href: fragmentOf('users', undefined, { group: name }),
      })),
    ...(users.value?.search === text ? users.value.users : []).slice(0, maxOfKind).map((user) => ({
      key: `user ${user.id}`,
      kind: words.columns.user,
      label: user.username,
      detail: user.name === null ? user.email : `${user.name} · ${user.email}`,
      href: fragmentOf('users', user.id),
    })),
  ]
  // What is known of users may be the answer to an older text.
  const isSettled = users.value?.search === text
  return { found, isSettled }
}

const SearchDialog = ({ onClose }: { onClose: () => void }) => {
  const words = useWords('admin')
  return (
    <Dialog title={words.searchAll.action} lead={words.searchAll.lead} onCancel={onClose}>
      {(close) => (
        <>
          <SearchField
            onChosen={(href) => {
              close()
              onClose()
              location.hash = href
            }}
          />
          <Button
            look="quiet"
            onPress={() => {
              close()
              onClose()
            }}
          >
            {words.cancel}
          </Button>
        </>
      )}
    </Dialog>
  )
}

/** A field with a list (ARIA, combobox): the focus stays in the field, and the arrows choose. */
const SearchField = ({ onChosen }: { onChosen: (href: string) => void }) => {
  const words = useWords('admin').searchAll
  const [typed, setTyped] = useState('')
  /** None before something is typed: a screen reader would read it in the place of the field. */
  const [chosen, setChosen] = useState(-1)
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const { found, isSettled } = useFound(typed.trim())
  useEffect(() => input.current?.focus(), [])
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, chosen])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && found.length > 0) {
      event.preventDefault()
      setChosen((current) => (Math.max(current, step === 1 ? -1 : 0) + step + found.length) % found.length)
    }
    const option = found[chosen]
    if (event.key === 'Enter' && option) {
      event.preventDefault()
      onChosen(option.href)
    }
  }
  return (
    <div class="search-field">
      <input
        ref={input}
        type="text"
        // biome-ignore lint/a11y/noRedundantRoles: it has no `list`, which would make it one
        role="combobox"
        list={undefined}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        maxLength={254}
        aria-label={words.action}
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={found[chosen] ? `${id}-${chosen}` : undefined}
        value={typed}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value)
          setChosen(currentTarget.value.trim() === '' ? -1 : 0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} role="listbox" aria-label={words.results}>
        {found.map((option, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the same
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          <div
            key={option.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => onChosen(option.href)}
            onPointerMove={() => setChosen(index)}
          >
            <span class="row-text">
              <strong>{option.label}</strong>
              {option.detail !== '' && <span>{option.detail}</span>}
            </span>
            <span class="muted">{option.kind}</span>
          </div>
        ))}
      </div>
      <p class="panel-lead" role="status">
        {isSettled && (found.length === 0 ? words.nothing : fill(words.found, { count: `${found.length}` }))}
      </p>
    </div>
  )
}
