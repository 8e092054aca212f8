import { useContext, useId, useRef, useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { FieldMessages } from '../components/field.js'
import { FormContext } from '../components/form.js'
import { useWords } from '../hooks/settings.js'

const longestIcon = 32 * 1024

/** In the value of the field: the icon shall go. Another value is a PNG in base64, an empty one changes nothing. */
const removed = 'none'

/** What the field says of the icon: undefined leaves it as it is, null removes it. */
export const iconIn = (typed: string | undefined) => {
  if (!typed) return undefined
  return typed === removed ? null : typed
}

const base64Of = (bytes: Uint8Array) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))

const isPng = (bytes: Uint8Array) => [0x89, 0x50, 0x4e, 0x47].every((byte, at) => bytes[at] === byte)

/** `src`: the icon that there is. The picture is read here, so that a wrong one is told before anything is sent. */
export const IconField = ({ src }: { src: string | undefined }) => {
  const words = useWords('configuration').icon
  const id = useId()
  const { problems, onEdit } = useContext(FormContext)
  const [value, setValue] = useState('')
  const [fault, setFault] = useState<string>()
  const input = useRef<HTMLInputElement>(null)
  const errors = fault === undefined ? (problems.fields?.icon ?? []) : [fault]
  const choose = async (file: File | undefined) => {
    onEdit('icon')
    setFault(undefined)
    setValue('')
    if (!file) return
    if (file.size > longestIcon) return setFault(words.tooLarge)
    const bytes = new Uint8Array(await file.arrayBuffer())
    if (isPng(bytes)) setValue(base64Of(bytes))
    else setFault(words.noPng)
  }
  const shown = value === '' ? src : value === removed ? undefined : `data:image/png;base64,${value}`
  return (
    <div>
      <label for={id}>{words.label}</label>
      <div class="icon-field">
        {shown !== undefined && <img src={shown} alt={words.alt} width="40" height="40" />}
        <input
          ref={input}
          id={id}
          type="file"
          accept="image/png"
          aria-invalid={errors.length > 0}
          aria-describedby={`${id}-errors${errors.length === 0 ? ` ${id}-hint` : ''}`}
          onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])}
        />
        {src !== undefined && value !== removed && (
          <Button
            onPress={() => {
              if (input.current) input.current.value = ''
              setFault(undefined)
              setValue(removed)
            }}
          >
            {words.remove}
          </Button>
        )}
      </div>
      <input type="hidden" name="icon" value={value} />
      <FieldMessages
        id={id}
        name="icon"
        label={words.label}
        errors={errors}
        hint={errors.length === 0 ? (value === removed ? words.removed : words.hint) : undefined}
      />
    </div>
  )
}

export const iconAddress = ({ id, iconVersion }: { id: string; iconVersion: string | null }) =>
  iconVersion === null ? undefined : `/api/auth/application-icons/${encodeURIComponent(id)}?v=${iconVersion}`
