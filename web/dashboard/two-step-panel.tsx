import { useState } from 'preact/hooks'
import type { Refusal } from '../../packages/client/src/client.js'
import type { Factors, TotpBegun } from '../../src/contract/schemas.js'
import { client } from '../client.js'
import { Button } from '../components/button.js'
import { useDisclosure } from '../focus.js'
import { useSettings, useWords } from '../settings.js'
import { AddApp, RecoveryCodes } from '../two-step/steps.js'
import { fill } from '../words/format.js'
import { useDashboardActions } from './dashboard-actions.js'
import { fullDate } from './dates.js'
import { Panel } from './panel.js'
import { TrustedDevices } from './trusted-devices.js'

type Props = { factors: Factors | undefined; onChanged: () => Promise<void> }

/** Two-step sign-in: on with an app, off, new recovery codes, trusted devices. */
export const TwoStepPanel = ({ factors, onChanged }: Props) => {
  const words = useWords('two-step')
  const actions = useDashboardActions()
  const [begun, setBegun] = useState<TotpBegun>()
  const [codes, setCodes] = useState<string[]>()
  const [busy, setBusy] = useState(false)

  const changed = async (recoveryCodes?: string[]) => {
    setBegun(undefined)
    setCodes(recoveryCodes)
    await Promise.all([onChanged(), actions.reload()])
  }

  const begin = async () => {
    setBusy(true)
    const answer = await actions.withFreshSignIn(client.beginTotp)
    setBusy(false)
    if (answer.refused) actions.showRefusal(answer)
    else setBegun(answer.value)
  }

  if (codes) {
    return (
      <Panel title={words.title}>
        <RecoveryCodes codes={codes} onDone={() => setCodes(undefined)} />
      </Panel>
    )
  }
  if (begun) {
    return (
      <Panel title={words.title}>
        <AddingApp begun={begun} onAdded={changed} onCancel={() => setBegun(undefined)} />
      </Panel>
    )
  }
  if (!factors) return null
  return (
    <Panel title={words.title} {...(!factors.totp && { lead: words.offLead })}>
      {factors.totp ? (
        <SwitchedOn factors={factors} onChanged={changed} />
      ) : (
        <Button busy={busy} onPress={begin}>
          {words.switchOn}
        </Button>
      )}
    </Panel>
  )
}

type AddingProps = { begun: TotpBegun; onAdded: (recoveryCodes: string[]) => Promise<void>; onCancel: () => void }

const AddingApp = ({ begun, onAdded, onCancel }: AddingProps) => {
  const { cancel } = useWords('dashboard')
  const { withFreshSignIn, showRefusal } = useDashboardActions()
  const showIfSignedOut = (refusal: Refusal) => {
    if (refusal.refused !== 'not_authenticated') return false
    showRefusal(refusal)
    return true
  }
  return (
    <>
      <AddApp
        begun={begun}
        confirm={(proof) => withFreshSignIn(() => client.confirmTotp(proof))}
        onAdded={onAdded}
        onRefused={showIfSignedOut}
      />
      <Button look="quiet" onPress={onCancel}>
        {cancel}
      </Button>
    </>
  )
}

type OnProps = { factors: Factors; onChanged: (recoveryCodes?: string[]) => Promise<void> }

const SwitchedOn = ({ factors, onChanged }: OnProps) => {
  const words = useWords('two-step')
  const { locale, secondFactor } = useSettings()
  const actions = useDashboardActions()
  const [busy, setBusy] = useState(false)
  const isNeeded = secondFactor === 'required' && factors.passkeys.length === 0

  const renew = async () => {
    setBusy(true)
    const answer = await actions.withFreshSignIn(client.renewRecoveryCodes)
    setBusy(false)
    if (answer.refused) actions.showRefusal(answer)
    else await onChanged(answer.value.recoveryCodes)
  }

  return (
    <>
      <p class="panel-lead">
        {fill(words.onSince, { date: fullDate(factors.totp?.createdAt ?? '', locale) })}{' '}
        {fill(words.codesLeft, { count: String(factors.recoveryCodes.left) })}
      </p>
      <TrustedDevices devices={factors.trustedDevices} onChanged={() => onChanged()} />
      <div class="button-row">
        <Button busy={busy} onPress={renew}>
          {words.newCodes}
        </Button>
      </div>
      {isNeeded ? <p class="panel-lead">{words.needed}</p> : <SwitchOff onChanged={onChanged} />}
    </>
  )
}

/** Asks for a second press, because the account is less safe afterwards. */
const SwitchOff = ({ onChanged }: Pick<OnProps, 'onChanged'>) => {
  const words = useWords('two-step')
  const actions = useDashboardActions()
  const { cancel } = useWords('dashboard')
  const { isOpen, setOpen, containerProps } = useDisclosure(words.switchOff)
  const [busy, setBusy] = useState(false)

  const remove = async () => {
    setBusy(true)
    const answer = await actions.withFreshSignIn(client.removeTotp)
    setBusy(false)
    if (answer.refused) return actions.showRefusal(answer)
    actions.showSuccess(words.switchedOff)
    await onChanged()
  }

  return (
    <div {...containerProps}>
      {isOpen ? (
        <div class="button-row">
          <Button look="danger" busy={busy} onPress={remove}>
            {words.switchOffSure}
          </Button>
          <Button look="quiet" onPress={() => setOpen(false)}>
            {cancel}
          </Button>
        </div>
      ) : (
        <Button look="quiet" onPress={() => setOpen(true)}>
          {words.switchOff}
        </Button>
      )}
    </div>
  )
}
