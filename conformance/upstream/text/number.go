package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"strconv"
)

func numbers() []float64 {
	all := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1),
		math.SmallestNonzeroFloat64, math.MaxFloat64, math.SmallestNonzeroFloat32, math.MaxFloat32,
		2.2250738585072014e-308, 2.225073858507201e-308, 1.1754943508222875e-38,
		math.MaxInt64, math.MinInt64, math.MaxUint64, math.MaxInt32, math.MinInt32, math.MaxUint32,
		1 << 53, 1<<53 - 1, 1<<53 + 2, 1 << 24, 1<<24 + 1, 16777217,
		// Numbers whose shortest digits are hard to find.
		5e-324, 9.5e-323, 1.7800590868057611e-307, 2.8480945388892175e-306, 2.446494580089078e-296, 4.8726570057e288,
		8.41e21, 2.0919495182368195e19, 9.007199254740993e15, 6.631236846766476e-316, 3.237883913302901e-319,
		5e125, 69e267, 999e-26, 7861e-34, 75569e-254, 928609e-261, 9210917e80, 84863171e114, 653777767e273, 5232604057e-298,
		27235667517e-109, 653532977297e-123, 3142213164987e-294, 46202199371337e-72, 231010996856685e-73, 9324754620109615e212,
		78459735791271921e49, 272104041512242479e200, 6802601037806061975e198, 20505426358836677347e-221,
		836168422905420598437e-234, 4891559871276714924261e222, 0.3, 0.1 + 0.2, 1.0 / 3, 2.0 / 3, math.Pi, math.E, 1e23, 9e-265,
		123456789, 1234567, 123456.7, 123456, 100000, 99999.99, 999999.9999999999, 0.0001, 0.00009999, 0.000123456, 4503599627370496.5}
	// Every power of ten and its neighbours: the borders of every form are among them.
	for exponent := -324; exponent <= 308; exponent++ {
		power, err := strconv.ParseFloat(fmt.Sprintf("1e%d", exponent), 64)
		if err != nil {
			panic(err)
		}
		all = append(all, power)
		if exponent >= -8 && exponent <= 24 {
			all = append(all, math.Nextafter(power, 0), math.Nextafter(power, math.Inf(1)), -power, 9.5*power, 1.25*power)
		}
	}
	for exponent := -1074; exponent <= 1023; exponent += 5 {
		power := math.Ldexp(1, exponent)
		all = append(all, power, math.Nextafter(power, 0))
	}
	random := rand.New(rand.NewSource(3))
	// Numbers halfway between two equally short texts, of 64 and of 32 bits.
	for exponent := 40; exponent < 54; exponent++ {
		for _, bits := range []int{52, 23} {
			if bits == 23 && exponent > 46 {
				continue
			}
			power := exponent
			if bits == 23 {
				power = exponent - 24
			}
			spacing := math.Ldexp(1, power-bits)
			for range 12 {
				all = append(all, math.Ldexp(1, power)+spacing*float64(random.Int63n(1<<bits)))
			}
		}
	}
	for range 800 {
		all = append(all, math.Float64frombits(random.Uint64()))
	}
	for range 400 {
		// Numbers as people write them.
		all = append(all, float64(random.Int63n(2_000_000)-1_000_000)/math.Pow10(random.Intn(9)))
		all = append(all, float64(random.Int63())*float64(1-2*random.Intn(2)))
	}
	for range 300 {
		all = append(all, float64(math.Float32frombits(random.Uint32())))
	}
	return all
}

func floats() string {
	t := newTable("bits of a float64, FormatFloat 'g', FormatFloat 'f' (- beyond 1e±25), encoding/json (- where it refuses), FormatFloat 'g' of the number as float32")
	seen := map[uint64]bool{}
	for _, number := range numbers() {
		bits := math.Float64bits(number)
		if seen[bits] {
			continue
		}
		seen[bits] = true
		general := strconv.FormatFloat(number, 'g', -1, 64)
		if general != fmt.Sprint(number) || general != fmt.Sprintf("%#v", number) {
			panic(fmt.Sprintf("%%v or %%#v of %s is another", general))
		}
		inJSON := "-"
		if encoded, err := json.Marshal(number); err == nil {
			inJSON = string(encoded)
		}
		positional := "-"
		if size := math.Abs(number); size == 0 || !(size < 1e-25 || size > 1e25) || math.IsInf(number, 0) {
			positional = strconv.FormatFloat(number, 'f', -1, 64)
		}
		t.row(fmt.Sprintf("%016x", bits), general, positional, inJSON, fmt.Sprint(float32(number)))
	}
	return t.String()
}

// rounded is numbers with a fixed count of digits behind the point.
func rounded() string {
	t := newTable("bits of a float64, digits, FormatFloat 'f', FormatFloat 'e'")
	halves := []float64{0.5, 1.5, 2.5, 3.5, 0.25, 0.75, 0.125, 0.375, 0.0625, 0.15, 0.35, 1.005, 2.675, 1e15 + 0.5, 8.5, 9.5, 99.5, 0.05,
		0, math.Copysign(0, -1), 1, -1, 0.1, 123456789.987654321, 1e21, 1e22, 1e-7, 1e-20, math.Pi, -2.5, -0.5}
	random := rand.New(rand.NewSource(4))
	for range 120 {
		halves = append(halves, float64(random.Int63n(1<<20))/math.Pow(2, float64(random.Intn(21))), random.NormFloat64()*math.Pow10(random.Intn(30)-15))
	}
	for _, number := range halves {
		for _, digits := range []int{0, 1, 2, 3, 6, 17} {
			t.row(fmt.Sprintf("%016x", math.Float64bits(number)), strconv.Itoa(digits),
				strconv.FormatFloat(number, 'f', digits, 64), strconv.FormatFloat(number, 'e', digits, 64))
		}
	}
	return t.String()
}
