import { type ComponentChildren, createContext } from 'preact'
import { useContext, useRef } from 'preact/hooks'
import { type Answer, isTemporary, type Refusal } from '#client/client.js'
import type { AdminSelf } from '#contract/admin/admin-bodies.js'
import { TryAgain } from '../components/button.js'
import { Card } from '../components/card.js'
import { Heading } from '../components/heading.js'
import { Loading, Notice } from '../components/notice.js'
import { SignOutButton } from '../components/sign-out.js'
import { useLoaded } from '../hooks/loaded.js'
import { useWords } from '../hooks/settings.js'
import type { WithFreshSignIn } from '../sign-in/step-up.js'
import { fill } from '../words/format.js'
import { useRefusalSentence } from '../words/refusals.js'
import { type Departure, fragmentOf, type ScreenName, screenNames } from './place.js'
import { Search } from './search.js'

type Props = {
  title: string
  lead?: string
  /** The link back to the list. */
  above?: ComponentChildren
  beside?: ComponentChildren
  /** Something else is shown in front of the screen, which takes its heading back when that is gone. */
  isBehind?: boolean
  children: ComponentChildren
}

/** One screen. If the user came by a link, the heading gets the focus, and a screen reader begins there. */
export const Screen = ({ title, lead, above, beside, isBehind = false, children }: Props) => (
  <>
    {above !== undefined && <p class="way-back">{above}</p>}
    <div class="page-title">
      <div>
        <Heading key={`${isBehind}`} text={title} focused={useAdmin().hasNavigated && !isBehind} />
        {lead !== undefined && <p class="panel-lead">{lead}</p>}
      </div>
      {beside}
    </div>
    {children}
  </>
)

type NotLoadedProps = { refusal: Refusal; onTryAgain: () => Promise<void> }

/** Stands in the place of a part that could not be loaded. */
const NotLoaded = ({ refusal, onTryAgain }: NotLoadedProps) => {
  const words = useWords('admin')
  const sentenceOf = useRefusalSentence()
  if (refusal.refused === 'not_found') return <Notice kind="error">{words.gone}</Notice>
  if (refusal.refused === 'bad_request') return <Notice kind="error">{sentenceOf(refusal)}</Notice>
  return (
    <div class="not-loaded">
      <Notice kind="error">{`${words.notLoaded} ${sentenceOf(refusal)}`}</Notice>
      <TryAgain onPress={onTryAgain} />
    </div>
  )
}

type LoadedProps<Value> = {
  value: Value | undefined
  refusal: Refusal | undefined
  reload: () => Promise<void>
  children: (value: Value) => ComponentChildren
}

/** Shows the loaded value, or why it is not there. */
export const Loaded = <Value,>({ value, refusal, reload, children }: LoadedProps<Value>) => {
  const { loading } = useWords('admin')
  if (refusal) return <NotLoaded refusal={refusal} onTryAgain={reload} />
  return <>{value === undefined ? <Loading text={loading} /> : children(value)}</>
}

/** The search over everything, who is signed in, and below them the links to all screens. */
export const Frame = ({ screen }: { screen: ScreenName }) => {
  const words = useWords('admin')
  const { self, mayManage } = useAdmin()
  return (
    <div class="frame">
      <div class="frame-self">
        <Search />
        <span class="frame-name">
          {fill(words.signedInAs, { username: self.username })}{' '}
          {!mayManage && (
            <span class="badge" title={words.supportLead}>
              {words.supportRole}
            </span>
          )}
        </span>
        <a href="/api/auth/account-page">{words.toAccount}</a>
        <SignOutButton />
      </div>
      <nav aria-label={words.screens}>
        <ul>
          {screenNames.map((name) => (
            <li key={name}>
              <a href={fragmentOf(name)} aria-current={name === screen ? 'page' : undefined}>
                {words[name]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
    </div>
  )
}

/** For a visitor who is no administrator: the same page as at an address that does not exist. */
export const NothingHere = () => {
  const words = useWords('not-found')
  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead">{words.text}</p>
      <a class="button primary" href="/">
        {words.action}
      </a>
    </Card>
  )
}

/** For a user who was an administrator until a moment ago. */
export const AccessLost = () => {
  const words = useWords('admin')
  return (
    <Card>
      <Heading text={words.lostHeading} focused />
      <p class="lead">{words.lost}</p>
      <a class="button primary" href="/api/auth/account-page">
        {words.toAccount}
      </a>
    </Card>
  )
}

/** The functions of the page for its screens. */
export type Admin = {
  self: AdminSelf
  /** Whether groups, invitations and applications may be changed, and users deleted. */
  mayManage: boolean
  /** Whether another screen was shown before. Then the heading of this one takes the focus; the first screen needs no help. */
  hasNavigated: boolean
  /** How this screen was left, if the user now comes back to it. */
  earlierDeparture: Departure | undefined
  showSuccess: (text: string) => void
  /** `retry`: the action of the button "Try again". */
  showError: (text: string, retry?: () => Promise<void>) => void
  /**
   * Leaves the screens if the refusal means that there is no session, that the user is no longer an administrator, or that a proof is
   * needed first. Returns whether it did.
   */
  leaveIfEnded: (refusal: Refusal) => Promise<boolean>
  /** Makes a call that changes something. Such a call needs a fresh second factor, so the user may be asked for one first. */
  withFreshSignIn: WithFreshSignIn
}

export const AdminContext = createContext<Admin | undefined>(undefined)

export const useAdmin = () => {
  const admin = useContext(AdminContext)
  if (!admin) throw new Error('A screen was used outside of the page of administrators')
  return admin
}

/** Loads the value that a screen shows. If the service just cannot answer at the moment, the screen keeps the value that it has. */
export const useRead = <Value,>(ask: () => Promise<Answer<Value>>, key = '') => {
  const { leaveIfEnded, showError } = useAdmin()
  const sentenceOf = useRefusalSentence()
  const read = useLoaded(
    ask,
    async (refusal, isShown) => {
      if (await leaveIfEnded(refusal)) return true
      const isKept = isShown && isTemporary(refusal)
      if (isKept) showError(sentenceOf(refusal), () => read.reload())
      return isKept
    },
    key,
  )
  return read
}

type PageOf<Item> = {
  items: Item[]
  next: string | null
  /** How many there are in all, if the first page says it. */
  count?: number | undefined
}

/** Loads the first page, and further ones until there are at least `minItems` items. */
const loadPages = async <Item,>(
  ask: (after?: string) => Promise<Answer<PageOf<Item>>>,
  key: string,
  minItems: number,
) => {
  const first = await ask()
  if (first.refused) return first
  let { items, next } = first.value
  const { count } = first.value
  while (next !== null && items.length < minItems) {
    const answer = await ask(next)
    if (answer.refused) return answer
    items = [...items, ...answer.value.items]
    next = answer.value.next
  }
  return { value: { key, items, next, count } }
}

/** Loads a long list page by page. */
export const usePages = <Item,>(ask: (after?: string) => Promise<Answer<PageOf<Item>>>, key: string) => {
  const { leaveIfEnded, showError, earlierDeparture } = useAdmin()
  const sentenceOf = useRefusalSentence()
  const firstKey = useRef(key)
  // As many items as are shown, or as the screen had before: among them is the one whose page the user comes back from.
  const minItems = (): number => {
    if (value?.key === key) return value.items.length
    return key === firstKey.current ? (earlierDeparture?.rows ?? 0) : 0
  }
  const { value, setValue, ...read } = useRead(() => loadPages(ask, key, minItems()), key)
  const loadMore = async () => {
    if (!value?.next) return
    const answer = await ask(value.next)
    if (answer.refused) {
      if (!(await leaveIfEnded(answer))) showError(sentenceOf(answer))
      return
    }
    const { items, next } = answer.value
    // If the user has begun another search meanwhile, these items do not belong to it.
    setValue((shown) => (shown === value ? { ...value, items: [...value.items, ...items], next } : shown))
  }
  const addNewer = (items: Item[]) => setValue((shown) => shown && { ...shown, items: [...items, ...shown.items] })
  return { ...read, items: value?.items, next: value?.next ?? null, count: value?.count, loadMore, addNewer }
}
